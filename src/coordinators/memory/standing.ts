import { RecordCorruptError } from '../../errors/index.js';
import { groupOf } from '../names.js';
import type { LeaseRecord, Revocation, SuspendedRecord } from '../record.js';
import { describeLease, describeRecord } from './record.js';
import type { MemoryStore } from './store.js';

/* What stands under a name for all to see. `nowMs` is the store's elapsed time; what had expired by then is gone. */

/** What keeps others from the name, or `undefined`: it is free, or something foreign stands there. */
export function describeName(
  store: MemoryStore,
  name: string,
  nowMs: number,
): LeaseRecord | undefined {
  const suspension = store.suspensions.get(name);
  if (suspension !== undefined) return describeSuspension(store, name, suspension, nowMs);
  const record = store.records.get(name);
  return record === undefined || record.kind === 'foreign'
    ? undefined
    : describeRecord(name, record, nowMs);
}

/** @throws {RecordCorruptError} if what is stored is not ours: answering "free" would be a lie. */
export function readOne(store: MemoryStore, name: string, nowMs: number): LeaseRecord | undefined {
  if (store.foreignText(name) === undefined) return describeName(store, name, nowMs);
  throw new RecordCorruptError(
    `the text under "${name}" is no record of a lease. Somebody else wrote it; remove it there.`,
  );
}

export function listGroup(store: MemoryStore, group: string, nowMs: number): LeaseRecord[] {
  const suspended = [...store.suspensions.keys()].filter((name) => groupOf(name) === group);
  const names = new Set([...store.records.namesIn(group), ...suspended]);
  return [...names].sort().flatMap((name) => {
    if (store.foreignText(name) !== undefined) return [];
    return describeName(store, name, nowMs) ?? [];
  });
}

export function describeSuspension(
  store: MemoryStore,
  name: string,
  suspension: Revocation,
  nowMs: number,
): SuspendedRecord {
  const record = store.records.get(name);
  const ending = record?.kind === 'lease' ? describeLease(name, record, nowMs) : undefined;
  return { state: 'suspended', name, suspension, ending };
}
