import { RecordCorruptError } from '../../errors/index.js';
import { groupOf } from '../names.js';
import type { LeaseRecord, Revocation, SuspendedRecord } from '../record.js';
import type { Ledger } from './ledger.js';
import { describeLease, describeRecord } from './record.js';

/* What stands under a name for all to see. `nowMs` is the store's clock; what had expired by then does not show. */

/** What keeps others from the name, or `undefined`: it is free, or something foreign stands there. */
export function describeName(ledger: Ledger, name: string, nowMs: number): LeaseRecord | undefined {
  const suspension = ledger.suspensions.get(name);
  if (suspension !== undefined) return describeSuspension(ledger, name, suspension, nowMs);
  const record = ledger.records.get(name);
  return record === undefined || record.kind === 'foreign'
    ? undefined
    : describeRecord(name, record, nowMs);
}

/** @throws {RecordCorruptError} if what is stored is not ours: answering "free" would be a lie. */
export function readOne(ledger: Ledger, name: string, nowMs: number): LeaseRecord | undefined {
  if (ledger.foreignText(name) === undefined) return describeName(ledger, name, nowMs);
  throw new RecordCorruptError(
    `${sayForeign(ledger, name)}. Somebody else wrote it; remove it there.`,
  );
}

/** What stands under the name is not ours, as a sentence without its end. */
export function sayForeign({ namespace }: Ledger, name: string): string {
  const place = namespace === undefined ? '' : ` (in the namespace "${namespace}")`;
  return `the text under "${name}"${place} is no record of a lease`;
}

export interface GroupListing {
  readonly records: LeaseRecord[];
  /** The names under which something foreign stands. */
  readonly foreignNames: readonly string[];
}

export function listGroup(ledger: Ledger, group: string, nowMs: number): GroupListing {
  const suspended = [...ledger.suspensions.keys()].filter((name) => groupOf(name) === group);
  const names = [...new Set([...ledger.records.namesIn(group), ...suspended])].sort();
  const isForeign = (name: string) => ledger.foreignText(name) !== undefined;
  const records = names.flatMap((name) =>
    isForeign(name) ? [] : (describeName(ledger, name, nowMs) ?? []),
  );
  return { records, foreignNames: names.filter(isForeign) };
}

export function describeSuspension(
  ledger: Ledger,
  name: string,
  suspension: Revocation,
  nowMs: number,
): SuspendedRecord {
  const record = ledger.records.get(name);
  const ending = record?.kind === 'lease' ? describeLease(name, record, nowMs) : undefined;
  return { state: 'suspended', name, suspension, ending };
}
