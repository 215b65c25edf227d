import { visible } from '../display/visible.js';
import type { Session } from '../session.js';

/** Where nothing was found: it may stand in another store, or under another namespace. */
export function notePlace({ terminal, address, namespace }: Session): void {
  terminal.note(`  at:   ${visible(address)}, namespace ${visible(namespace)}`);
}
