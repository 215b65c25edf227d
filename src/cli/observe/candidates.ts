import { type ElectionCandidate, withLeader } from '../../elections/candidates.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { call, type Session } from '../session.js';
import { notePlace } from './place.js';

/** Prints who stands for a name: those who wait in the order in which they will be called, then the rest. */
export async function candidates(
  session: Session,
  name: string,
  format: 'text' | 'json',
): Promise<boolean> {
  const { coordinator, terminal, address, namespace } = session;
  const [[record], entries] = await Promise.all([
    coordinator.read([name], call),
    coordinator.candidates(name, call),
  ]);
  const found = withLeader(entries, record);
  if (format === 'json') {
    terminal.print(jsonText({ store: address, namespace, name, candidates: found.map(asJson) }, 2));
    return true;
  }
  if (found.length === 0) {
    terminal.note(`no candidates for ${visible(name)}`);
    notePlace(session);
    return true;
  }
  const headers = ['PLACE', 'ID', 'STANDING', 'PREFERENCE', 'SINCE', 'LEFT', 'METADATA'];
  printTable(terminal, headers, found.map(asRow));
  return true;
}

function asRow(candidate: ElectionCandidate, index: number): string[] {
  const { id, standing, leads, preference, sinceMs, remainingMs, metadata } = candidate;
  return [
    standing === 'waiting' ? `${index + 1}` : '-',
    visible(id),
    leads ? 'leads' : standing,
    `${preference}`,
    sayInstant(sinceMs),
    sayDuration(remainingMs),
    metadata === undefined ? '' : visible(JSON.stringify(metadata)),
  ];
}

function asJson(candidate: ElectionCandidate, index: number): object {
  const { id, digest, standing, leads, preference, sinceMs, remainingMs, metadata } = candidate;
  return {
    position: standing === 'waiting' ? index : null,
    id,
    digest,
    standing,
    leads,
    preference,
    sinceMs,
    remainingMs: Math.round(remainingMs),
    metadata: metadata ?? null,
  };
}
