import type { Candidate, LeaseRecord } from '../../coordinators/index.js';
import { sayInstant } from '../display/instant.js';
import { metadataAsJson } from '../display/record.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { call, type Session } from '../session.js';

/** Prints who stands for a name: those who wait in the order in which they will be called, then the rest. */
export async function candidates(
  session: Session,
  name: string,
  format: 'text' | 'json',
): Promise<boolean> {
  const { coordinator, terminal, address, namespace } = session;
  const [[record], found] = await Promise.all([
    coordinator.read([name], call),
    coordinator.candidates(name, call),
  ]);
  if (format === 'json') {
    const entries = found.map((candidate, index) => asJson(candidate, index, record));
    terminal.print(jsonText({ store: address, namespace, name, candidates: entries }, 2));
    return true;
  }
  if (found.length === 0) {
    terminal.note(`no candidates for ${visible(name)} in namespace ${visible(namespace)}`);
    return true;
  }
  const headers = ['PLACE', 'ID', 'STANDING', 'PREFERENCE', 'SINCE', 'LEFT', 'METADATA'];
  printTable(
    terminal,
    headers,
    found.map((candidate, index) => asRow(candidate, index, record)),
  );
  return true;
}

/** Whether this candidate holds the name now: the same incarnation, not only the same id. */
export function leads(candidate: Candidate, record: LeaseRecord | undefined): boolean {
  return record?.state === 'held' && record.holder.digest === candidate.digest;
}

function asRow(candidate: Candidate, index: number, record: LeaseRecord | undefined): string[] {
  const { id, standing, preference, sinceMs, remainingMs, metadata } = candidate;
  return [
    standing === 'waiting' ? `${index + 1}` : '-',
    visible(id),
    leads(candidate, record) ? 'leads' : standing,
    `${preference}`,
    sayInstant(sinceMs),
    sayDuration(remainingMs),
    visible(metadata ?? ''),
  ];
}

function asJson(candidate: Candidate, index: number, record: LeaseRecord | undefined): object {
  const { id, digest, standing, preference, sinceMs, remainingMs, metadata } = candidate;
  return {
    position: standing === 'waiting' ? index : null,
    id,
    digest,
    standing,
    leads: leads(candidate, record),
    preference,
    sinceMs,
    remainingMs: Math.round(remainingMs),
    metadata: metadataAsJson(metadata),
  };
}
