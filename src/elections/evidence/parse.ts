import { validateName } from '../../coordinators/index.js';
import { type ErrorKind, errorKinds } from '../../errors/kinds.js';
import type { EndReason, LeaseState } from '../../leases/index.js';
import {
  type Evidence,
  type LossEvidence,
  type MachineSeen,
  type NoteEvidence,
  noteKinds,
  type RefusalEvidence,
  type RenewalsSeen,
  renewalsShown,
  type ThreadTime,
} from './evidence.js';

/*
 * What stands in a store was written by somebody: every field is looked at, and what is not as it has to be is left out,
 * with the entry where nothing could be said without it.
 */

type Fields = Readonly<Record<string, unknown>>;

const reasons: readonly EndReason[] = [
  ...(['expired', 'unreachable', 'superseded', 'vanished', 'revoked', 'stalled'] as const),
  ...(['max-hold', 'handed-off', 'released', 'shutdown'] as const),
];
const states: readonly LeaseState[] = ['held', 'uncertain', 'lost', 'released'];

export function parseEvidence(value: unknown): Evidence | undefined {
  const entry = fieldsOf(value);
  if (entry === undefined || !isName(entry.name)) return undefined;
  const { holderId, atMs } = entry;
  if (typeof holderId !== 'string' || holderId.length > 128 || !isTime(atMs)) return undefined;
  const common = { name: entry.name, holderId, atMs };
  if (entry.kind === 'note') return noteOf(entry, common);
  if (entry.kind === 'refusals') return refusalsOf(entry, common);
  return entry.kind === 'loss' ? lossOf(entry, common) : undefined;
}

type Common = Pick<Evidence, 'name' | 'holderId' | 'atMs'>;

function noteOf(entry: Fields, common: Common): NoteEvidence | undefined {
  const what = oneOf(noteKinds, entry.what);
  if (what === undefined) return undefined;
  const { term, detail } = entry;
  return {
    kind: 'note',
    ...common,
    what,
    ...(isCount(term) && { term }),
    ...(typeof detail === 'string' && { detail: detail.slice(0, 100) }),
  };
}

function refusalsOf(entry: Fields, common: Common): RefusalEvidence | undefined {
  const { term, resource, count, firstAtMs } = entry;
  if (!isCount(term) || typeof resource !== 'string' || !isCount(count)) return undefined;
  return {
    kind: 'refusals',
    ...common,
    term,
    resource: resource.slice(0, 40),
    count,
    firstAtMs: isTime(firstAtMs) ? Math.min(firstAtMs, common.atMs) : common.atMs,
  };
}

function lossOf(entry: Fields, common: Common): LossEvidence | undefined {
  const reason = oneOf(reasons, entry.reason);
  const { term, installedTerm } = entry;
  if (reason === undefined || !isCount(term)) return undefined;
  return {
    kind: 'loss',
    ...common,
    term,
    reason,
    stateBefore: oneOf(states, entry.stateBefore) ?? 'held',
    store: typeof entry.store === 'string' ? entry.store.slice(0, 40) : '',
    ttlMs: numberOf(entry.ttlMs),
    renewEveryMs: numberOf(entry.renewEveryMs),
    giveUpAfterMs: numberOf(entry.giveUpAfterMs),
    attemptTimeoutMs: numberOf(entry.attemptTimeoutMs),
    heldMs: numberOf(entry.heldMs),
    sinceRenewedMs: numberOf(entry.sinceRenewedMs),
    missedCount: numberOf(entry.missedCount),
    renewals: renewalsOf(fieldsOf(entry.renewals) ?? {}),
    errors: errorsOf(fieldsOf(entry.errors) ?? {}),
    connectionLostCount: numberOf(entry.connectionLostCount),
    machine: machineOf(fieldsOf(entry.machine) ?? {}),
    ...(isCount(installedTerm) && { installedTerm }),
  };
}

function renewalsOf(seen: Fields): RenewalsSeen {
  const last = Array.isArray(seen.last) ? seen.last.slice(-renewalsShown) : [];
  return {
    answeredCount: numberOf(seen.answeredCount),
    failedCount: numberOf(seen.failedCount),
    quickMs: numberOf(seen.quickMs),
    medianMs: numberOf(seen.medianMs),
    slowMs: numberOf(seen.slowMs),
    largestMs: numberOf(seen.largestMs),
    last: last.flatMap((one) => {
      const fields = fieldsOf(one);
      if (fields === undefined) return [];
      const failed = oneOf(errorKinds, fields.failed);
      return [{ ms: numberOf(fields.ms), ...(failed !== undefined && { failed }) }];
    }),
  };
}

function errorsOf(counts: Fields): Partial<Record<ErrorKind, number>> {
  const found = errorKinds.filter((kind) => Object.hasOwn(counts, kind) && isCount(counts[kind]));
  return Object.fromEntries(found.map((kind) => [kind, counts[kind]]));
}

function machineOf(seen: Fields): MachineSeen {
  return {
    overMs: numberOf(seen.overMs),
    longestStall: threadTimeOf(fieldsOf(seen.longestStall) ?? {}),
    all: threadTimeOf(fieldsOf(seen.all) ?? {}),
    suspendedMs: numberOf(seen.suspendedMs),
    wallStepMs: typeof seen.wallStepMs === 'number' ? seen.wallStepMs : 0,
  };
}

function threadTimeOf({ forMs, ranMs, waitedMs, throttledMs }: Fields): ThreadTime {
  return {
    forMs: numberOf(forMs),
    ...(isAmount(ranMs) && { ranMs }),
    ...(isAmount(waitedMs) && { waitedMs }),
    ...(isAmount(throttledMs) && { throttledMs }),
  };
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}

function isName(value: unknown): value is string {
  try {
    return typeof value === 'string' && validateName(value) === value;
  } catch {
    return false;
  }
}

function oneOf<Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  return words.find((word) => word === value);
}

/** A Unix time that can be printed. */
function isTime(value: unknown): value is number {
  return isAmount(value) && value < 8.64e15;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function numberOf(value: unknown): number {
  return isAmount(value) ? value : 0;
}
