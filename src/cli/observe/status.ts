import { heldForMs, recordAsJson, type Sighted, sayAct, sayRemaining } from '../display/record.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import type { Session } from '../session.js';
import { notePlace } from './place.js';
import { lookAt, type Sight } from './target.js';

export type StatusFormat = 'text' | 'wide' | 'json';

/**
 * Prints what stands under each of the targets, or in the root group.
 *
 * @throws {RecordCorruptError} in the end, if something there cannot be read.
 */
export async function status(
  session: Session,
  targets: readonly string[],
  format: StatusFormat,
): Promise<boolean> {
  const sight = await lookAtAll(session, targets);
  if (format === 'json') printJson(session, sight);
  else printText(session, sight, format);
  if (targets.length === 0 && sight.size > 0 && format !== 'json') noteOthers(session);
  const [first, ...others] = [...sight.values()].filter((one) => one?.state === 'unreadable');
  for (const { name } of others) {
    session.terminal.note(`tenure status: ${visible(name)} is unreadable`);
    session.terminal.note(`  next: ${session.write(['status', name])}`);
  }
  if (first !== undefined) throw first.error;
  return true;
}

async function lookAtAll(session: Session, targets: readonly string[]): Promise<Sight> {
  if (targets.length === 0) return await lookAt(session, undefined);
  const sights = await Promise.all(targets.map((target) => lookAt(session, target)));
  return new Map(sights.flatMap((sight) => [...sight]));
}

function printJson({ terminal, address, namespace }: Session, sight: Sight): void {
  const names = [...sight].map(([name, record]) => recordAsJson(name, record));
  terminal.print(jsonText({ store: address, namespace, names }, 2));
}

function printText(session: Session, sight: Sight, format: StatusFormat): void {
  const { terminal, write } = session;
  if (sight.size === 0) {
    terminal.note(`nothing stands in the root group`);
    notePlace(session);
    terminal.note(`  next: ${write(['status'], 'GROUP')}, for names such as GROUP/NAME`);
    return;
  }
  const isWide = format === 'wide';
  const headers = ['NAME', 'STATE', 'HOLDER', 'TERM', 'HELD FOR', 'LEFT'];
  if (isWide) headers.push('TTL', 'LOCK-DELAY', 'METADATA');
  headers.push('NOTE');
  const rows = [...sight].map(([name, record]) => {
    const row = [visible(name), record?.state ?? 'free', ...narrow(record)];
    return [...row, ...(isWide ? beyond(record) : []), remark(record)];
  });
  printTable(terminal, headers, rows);
  if ([...sight.values()].every((record) => record === undefined)) notePlace(session);
}

/** Stores list one group at a time, and do not tell which groups there are. */
function noteOthers({ terminal, write }: Session): void {
  terminal.note('  (the root group alone: names such as GROUP/NAME are not among these)');
  terminal.note(`  next: ${write(['status'], 'GROUP')}`);
}

function narrow(record: Sighted | undefined): string[] {
  const left = sayRemaining(record);
  switch (record?.state) {
    case undefined:
      return ['-', '', '', left];
    case 'held': {
      const { holder, term } = record;
      return [visible(holder.id), `${term}`, sayDuration(heldForMs(record)), left];
    }
    case 'suspended':
    case 'unreadable':
      return ['-', '', '', left];
    case 'reserved':
    case 'lock-delay':
      return ['-', `${record.term}`, '', left];
  }
}

function beyond(record: Sighted | undefined): string[] {
  if (record?.state !== 'held') return ['', '', ''];
  const { ttlMs, graceMs, metadata } = record;
  const lockDelay = graceMs === 0 ? '' : sayDuration(graceMs);
  return [sayDuration(ttlMs), lockDelay, visible(metadata ?? '')];
}

function remark(record: Sighted | undefined): string {
  switch (record?.state) {
    case undefined:
    case 'lock-delay':
      return '';
    case 'unreadable':
      return 'no record of a lease: granted to nobody';
    case 'reserved':
      return `for ${visible(record.to)}`;
    case 'held':
      return record.revocation === undefined ? '' : `revoked ${sayAct(record.revocation)}`;
    case 'suspended': {
      const { suspension, ending } = record;
      const last = ending === undefined ? '' : `${visible(ending.holder.id)} may still believe; `;
      return `${last}${sayAct(suspension)}`;
    }
  }
}
