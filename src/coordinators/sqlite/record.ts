import type { SqliteRow, SqliteValue } from '../../drivers/sqlite/index.js';
import { Holder } from '../holder.js';
import { groupOf } from '../names.js';
import type {
  ForeignRecord,
  StoredLease,
  StoredRecord,
  StoredReservation,
  StoredRevocation,
} from '../rules/record.js';
import { isTerm } from '../term.js';

/*
 * A row of the table `lease`. Its kind is `lease` or `reservation`. The lock-delay of a lease, and the reservation that a
 * revocation wanted, are not written: they follow from the row and the clock.
 */

/** Terms come as REAL: a corrupt one may be too large for the library to hand out as an integer. */
export const recordColumns =
  'name, kind, CAST(term AS REAL) AS term, deadline_ms, holder, attempt, ttl_ms, grace_ms, granted_at_ms, renewed_at_ms, metadata, revoked_by, revoked_reason, revoked_at_ms, reserved_to, reserve_ms';

/** What the row says, or what stands in it instead of a record of ours. */
export function recordOf(row: SqliteRow): Exclude<StoredRecord, { kind: 'lock-delay' }> {
  return leaseOf(row) ?? reservationOf(row) ?? foreignOf(row);
}

function leaseOf(row: SqliteRow): StoredLease | undefined {
  const holder = Holder.parse(text(row.holder) ?? '');
  const attempt = text(row.attempt);
  const [term, deadlineMs, ttlMs] = [row.term, row.deadline_ms, row.ttl_ms].map(number);
  if (row.kind !== 'lease' || holder === undefined || attempt === undefined) return undefined;
  if (!isTerm(term) || deadlineMs === undefined || ttlMs === undefined) return undefined;
  return {
    kind: 'lease',
    holder,
    attempt,
    term,
    ttlMs,
    deadlineMs,
    grantedAtMs: number(row.granted_at_ms) ?? 0,
    renewedAtMs: number(row.renewed_at_ms) ?? 0,
    metadata: text(row.metadata),
    graceMs: number(row.grace_ms) ?? 0,
    revocation: revocationOf(row),
  };
}

function revocationOf(row: SqliteRow): StoredRevocation | undefined {
  const atMs = number(row.revoked_at_ms);
  if (atMs === undefined) return undefined;
  const to = text(row.reserved_to);
  return {
    by: text(row.revoked_by) ?? '',
    reason: text(row.revoked_reason) ?? '',
    atMs,
    reserveMs: number(row.reserve_ms) ?? 0,
    ...(to === undefined ? {} : { to }),
  };
}

function reservationOf(row: SqliteRow): StoredReservation | undefined {
  const to = text(row.reserved_to);
  const [term, deadlineMs] = [row.term, row.deadline_ms].map(number);
  if (row.kind !== 'reservation' || to === undefined) return undefined;
  if (!isTerm(term) || deadlineMs === undefined) return undefined;
  return { kind: 'reservation', to, term, deadlineMs };
}

function foreignOf(row: SqliteRow): ForeignRecord {
  return { kind: 'foreign', text: String(row.kind) };
}

function text(value: SqliteValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: SqliteValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The values of a whole row, in the order of the table's columns. */
export function rowValues(
  namespace: string,
  name: string,
  record: StoredLease | StoredReservation,
): SqliteValue[] {
  const key = [namespace, name, groupOf(name), record.kind, record.term, record.deadlineMs];
  if (record.kind === 'reservation')
    return [...key, ...Array<null>(10).fill(null), record.to, null];
  const { revocation } = record;
  return [
    ...key,
    record.holder.wire,
    record.attempt,
    record.ttlMs,
    record.graceMs,
    record.grantedAtMs,
    record.renewedAtMs,
    record.metadata ?? null,
    revocation?.by ?? null,
    revocation?.reason ?? null,
    revocation?.atMs ?? null,
    revocation?.to ?? null,
    revocation?.reserveMs ?? null,
  ];
}
