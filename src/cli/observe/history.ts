import { historyCount, type TermEntry } from '../../coordinators/index.js';
import { type ElectionHistoryEntry, withVacancies } from '../../elections/history.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { call, type Session } from '../session.js';
import { noteNoHistory } from './place.js';

/** Prints the terms of a name and the acts of operators, oldest first. */
export async function history(
  session: Session,
  name: string,
  format: 'text' | 'json',
): Promise<boolean> {
  const { coordinator, terminal, address, namespace } = session;
  const entries = withVacancies(await coordinator.history(name, call));
  if (format === 'json') {
    const asJson = entries.map(entryAsJson);
    terminal.print(jsonText({ store: address, namespace, name, entries: asJson }, 2));
    return true;
  }
  if (entries.length === 0) {
    noteNoHistory(session, name);
    return true;
  }
  printTable(terminal, ['AT', 'WHAT', 'WHO', 'LASTED', 'VACANT', 'END'], entries.map(asRow));
  if (entries.length >= historyCount) terminal.note(`only the last ${historyCount} lines are kept`);
  return true;
}

function asRow(entry: ElectionHistoryEntry): string[] {
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
    entry.vacantMs === undefined ? '-' : sayDuration(entry.vacantMs),
    visible(entry.endReason ?? 'goes on'),
  ];
}

function lasted({ grantedAtMs, endedAtMs }: TermEntry): string {
  return endedAtMs === undefined ? '-' : sayDuration(endedAtMs - grantedAtMs);
}

function entryAsJson(entry: ElectionHistoryEntry): object {
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
    vacantMs: entry.vacantMs ?? null,
  };
}
