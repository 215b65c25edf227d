import type {
  HeldRecord,
  LeaseRecord,
  Revocation,
  SuspendedRecord,
} from '../../coordinators/index.js';
import { endsInMs } from '../../coordinators/remaining.js';
import { type RecordCorruptError, redactSecrets } from '../../errors/index.js';
import { sayDuration } from '../duration.js';
import { visible } from './visible.js';

/** What stands under a name is no record of ours: it is granted to nobody, and who held it is not to be told. */
export interface UnreadableRecord {
  readonly state: 'unreadable';
  readonly name: string;
  readonly error: RecordCorruptError;
}

/** What was found under a name. */
export type Sighted = LeaseRecord | UnreadableRecord;

/** What stands under a name, as one phrase without the time left: two that are alike read alike. */
export function sayRecord(record: Sighted | undefined): string {
  switch (record?.state) {
    case undefined:
      return 'free';
    case 'unreadable':
      return 'unreadable: what stands there is no record of a lease, and nobody is granted the name';
    case 'held':
      return `held by ${sayHolder(record)}${revoked(record)}`;
    case 'reserved':
      return `reserved for ${visible(record.to)}, after term ${record.term}`;
    case 'lock-delay':
      return `in its lock-delay, after term ${record.term} expired`;
    case 'suspended':
      return `suspended ${sayAct(record.suspension)}${ending(record)}`;
  }
}

/** Why nobody holds a name, as a sentence. */
export function sayVacancy(record: LeaseRecord | undefined): string {
  const left = sayRemaining(record);
  switch (record?.state) {
    case 'reserved':
    case 'lock-delay':
      return `it is ${sayRecord(record)}; ${left} left`;
    case 'suspended': {
      const until = record.ending === undefined ? '' : ` for ${left}`;
      return `it is ${sayRecord(record)}${until}`;
    }
    default:
      return 'it is free';
  }
}

/** How long it stays like this if nothing happens; `undefined` if for ever. */
export function remainingOf(record: Sighted | undefined): number | undefined {
  const inMs = endOf(record);
  return Number.isFinite(inMs) ? inMs : undefined;
}

/** As {@link remainingOf}; infinite if for ever. */
export function endOf(record: Sighted | undefined): number {
  return record === undefined || record.state === 'unreadable'
    ? Number.POSITIVE_INFINITY
    : endsInMs(record);
}

/** How long the present holder has held the name, by the store's clock. */
export function heldForMs({ grantedAtMs, renewedAtMs, ttlMs, remainingMs }: HeldRecord): number {
  return Math.max(0, renewedAtMs + ttlMs - remainingMs - grantedAtMs);
}

export function sayAct({ by, reason }: { readonly by: string; readonly reason: string }): string {
  return `by ${visible(by)}: ${visible(reason)}`;
}

function sayHolder({ holder, term }: HeldRecord): string {
  return `${visible(holder.id)}, term ${term}`;
}

function revoked({ revocation }: HeldRecord): string {
  if (revocation === undefined) return '';
  const successor = revocation.to === undefined ? '' : ` in favour of ${visible(revocation.to)}`;
  return `; revoked${successor} ${sayAct(revocation)}`;
}

function ending({ ending }: SuspendedRecord): string {
  if (ending === undefined) return '';
  return `; ${visible(ending.holder.id)} may still believe in term ${ending.term}`;
}

/** `24.1 s`, or nothing. */
export function sayRemaining(record: Sighted | undefined): string {
  const remainingMs = remainingOf(record);
  return remainingMs === undefined ? '' : sayDuration(remainingMs);
}

/**
 * What stands under a name, for programs. Terms are numbers; `...AtMs` are Unix times by the store's clock; `...Ms` are
 * durations. Documented in `docs/cli.md`: fields are added, never changed.
 */
export function recordAsJson(name: string, record: Sighted | undefined): object {
  switch (record?.state) {
    case undefined:
      return { name, state: 'free' };
    case 'unreadable':
      return { name, state: 'unreadable', problem: redactSecrets(record.error.message) };
    case 'held':
      return { name, state: 'held', ...heldAsJson(record) };
    case 'reserved':
      return { name, state: 'reserved', to: record.to, ...endingAsJson(record) };
    case 'lock-delay':
      return { name, state: 'lock-delay', ...endingAsJson(record) };
    case 'suspended': {
      const { suspension, ending: last } = record;
      return {
        name,
        state: 'suspended',
        suspension: revocationAsJson(suspension),
        ending: last === undefined ? null : heldAsJson(last),
      };
    }
  }
}

function heldAsJson(record: HeldRecord): object {
  const { holder, revocation, metadata } = record;
  return {
    holderId: holder.id,
    holderDigest: holder.digest,
    ...endingAsJson(record),
    ttlMs: record.ttlMs,
    grantedAtMs: record.grantedAtMs,
    renewedAtMs: record.renewedAtMs,
    graceMs: record.graceMs,
    metadata: metadataAsJson(metadata),
    revocation: revocation === undefined ? null : revocationAsJson(revocation),
  };
}

function endingAsJson({ term, remainingMs }: { term: number; remainingMs: number }): object {
  return { term, remainingMs: Math.round(remainingMs) };
}

function revocationAsJson({ by, reason, atMs, to }: Revocation): object {
  return { by, reason, atMs, to: to ?? null };
}

/** Metadata is JSON text by contract; what another program wrote that is none is shown as a text. */
export function metadataAsJson(metadata: string | undefined): unknown {
  if (metadata === undefined) return null;
  try {
    return JSON.parse(metadata);
  } catch {
    return metadata;
  }
}
