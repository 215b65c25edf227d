import { visible } from '../display/visible.js';
import type { Session } from '../session.js';

/** Of a name of which no store has kept anything. */
export function noteNoHistory(session: Session, name: string): void {
  session.terminal.note(`no history of ${visible(name)}`);
  session.terminal.note('  it holds the terms of elections and the acts of operators, no others');
  notePlace(session);
}

/** Where nothing was found: it may stand in another store, or under another namespace. */
export function notePlace({ terminal, address, namespace }: Session): void {
  terminal.note(`  at:   ${visible(address)}, namespace ${visible(namespace)}`);
}
