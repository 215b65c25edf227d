import { type HistoryEntry, historyCount, type TermEntry } from '../../coordinators/index.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { call, type Session } from '../session.js';

/** Prints the terms of a name and the acts of operators, oldest first. */
export async function history(
  session: Session,
  name: string,
  format: 'text' | 'json',
): Promise<boolean> {
  const { coordinator, terminal, address, namespace } = session;
  const entries = await coordinator.history(name, call);
  if (format === 'json') {
    const asJson = entries.map((entry, index) => entryAsJson(entry, vacantMs(entries, index)));
    terminal.print(jsonText({ store: address, namespace, name, entries: asJson }, 2));
    return true;
  }
  if (entries.length === 0) {
    terminal.note(`no history of ${visible(name)} in namespace ${visible(namespace)}`);
    terminal.note('  it holds the terms of elections and the acts of operators, no others');
    return true;
  }
  printTable(
    terminal,
    ['AT', 'WHAT', 'WHO', 'LASTED', 'VACANT', 'END'],
    entries.map((entry, index) => asRow(entry, vacantMs(entries, index))),
  );
  if (entries.length >= historyCount) terminal.note(`only the last ${historyCount} lines are kept`);
  return true;
}

/** How long nobody held the name before this term; `undefined` if the term before it is not known, or has no end. */
export function vacantMs(entries: readonly HistoryEntry[], index: number): number | undefined {
  const entry = entries[index];
  if (entry?.kind !== 'term') return undefined;
  const before = entries.slice(0, index).findLast((earlier) => earlier.kind === 'term');
  if (before?.endedAtMs === undefined) return undefined;
  return Math.max(0, entry.grantedAtMs - before.endedAtMs);
}

function asRow(entry: HistoryEntry, vacant: number | undefined): string[] {
  if (entry.kind === 'act') {
    const { act, atMs, by, reason, to } = entry;
    const successor = to === undefined ? '' : ` for ${visible(to)}`;
    return [sayInstant(atMs), `${act}${successor}`, visible(by), '-', '-', visible(reason)];
  }
  return [
    sayInstant(entry.grantedAtMs),
    `term ${entry.term}`,
    visible(entry.holderId),
    lasted(entry),
    vacant === undefined ? '-' : sayDuration(vacant),
    visible(entry.endReason ?? 'goes on'),
  ];
}

function lasted({ grantedAtMs, endedAtMs }: TermEntry): string {
  return endedAtMs === undefined ? '-' : sayDuration(endedAtMs - grantedAtMs);
}

function entryAsJson(entry: HistoryEntry, vacant: number | undefined): object {
  if (entry.kind === 'act') {
    const { act, by, reason, atMs, to } = entry;
    return { kind: 'act', act, by, reason, atMs, to: to ?? null };
  }
  const { term, holderId, grantedAtMs, endedAtMs, endReason } = entry;
  return {
    kind: 'term',
    term,
    holderId,
    grantedAtMs,
    endedAtMs: endedAtMs ?? null,
    endReason: endReason ?? null,
    vacantMs: vacant ?? null,
  };
}
