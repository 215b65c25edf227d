import { Holder } from '../holder.js';
import type { HeldRecord, LeaseRecord, Revocation } from '../record.js';
import { isTerm } from '../term.js';

/** What a function in the schema sees under a name: one row of `leases`, one of `suspensions`, or both. */
export interface Seen {
  readonly name: string;
  /** Of the row of `leases`; null: there is none. */
  readonly kind: string | null;
  readonly term: number | null;
  readonly holder: string | null;
  readonly attempt: string | null;
  readonly ttlMs: number | null;
  readonly graceMs: number | null;
  readonly reserveMs: number | null;
  /** The successor. */
  readonly to: string | null;
  /** Until the deadline, by the server's clock; negative once it has passed. */
  readonly leftMs: number | null;
  readonly grantedAtMs: number | null;
  readonly renewedAtMs: number | null;
  readonly metadata: string | null;
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
  readonly revokedReason: string | null;
  readonly suspendedAtMs: number | null;
  readonly suspendedBy: string | null;
  readonly suspendedReason: string | null;
}

type Timed = Exclude<LeaseRecord, { state: 'suspended' }>;

/** As a record; `free`: what stood there is over; `undefined`: it is not ours. */
export function parseSeen(seen: Seen | null): LeaseRecord | 'free' | undefined {
  if (seen === null) return 'free';
  const stands = parseTimed(seen);
  if (stands === undefined) return undefined;
  if (seen.suspendedBy === null) return stands;
  const suspension = {
    by: seen.suspendedBy,
    reason: seen.suspendedReason ?? '',
    atMs: seen.suspendedAtMs ?? 0,
  };
  const ending = stands !== 'free' && stands.state === 'held' ? stands : undefined;
  return { state: 'suspended', name: seen.name, suspension, ending };
}

/** The same where something that is not ours counts as nothing, as long as the name is not suspended. */
export function parseOwnSeen(seen: Seen | null): LeaseRecord | undefined {
  const record = parseSeen(seen) ?? parseSeen(seen && { ...seen, kind: null });
  return record === 'free' ? undefined : record;
}

function parseTimed(seen: Seen): Timed | 'free' | undefined {
  if (seen.kind === null) return 'free';
  const { name, term, to } = seen;
  // Without an end it is none of ours: somebody wrote `infinity`.
  if (!isTerm(term) || seen.leftMs === null) return undefined;
  const { leftMs } = seen;
  const [graceMs, reserveMs] = [seen.graceMs ?? 0, seen.reserveMs ?? 0];
  if (seen.kind === 'lease') {
    const held = parseLease(seen);
    if (held === undefined || leftMs > 0) return held;
    const delayMs = leftMs + graceMs;
    if (delayMs > 0) return { state: 'lock-delay', name, term, remainingMs: delayMs };
  } else if (seen.kind !== 'reservation') return undefined;
  // Longer than it was made for: the server's clock was set back since.
  const remainingMs = Math.min(reserveMs, leftMs + graceMs + reserveMs);
  if (to === null || remainingMs <= 0) return 'free';
  return { state: 'reserved', name, to, term, remainingMs };
}

/** The lease itself, whatever is left of its time. */
function parseLease(seen: Seen): HeldRecord | undefined {
  const holder = Holder.parse(seen.holder ?? '');
  if (holder === undefined || !isTerm(seen.term)) return undefined;
  const ttlMs = seen.ttlMs ?? 0;
  return {
    state: 'held',
    name: seen.name,
    holder,
    term: seen.term,
    leaseId: seen.attempt ?? '',
    ttlMs,
    remainingMs: Math.min(ttlMs, seen.leftMs ?? 0),
    grantedAtMs: seen.grantedAtMs ?? 0,
    renewedAtMs: seen.renewedAtMs ?? 0,
    metadata: seen.metadata ?? undefined,
    graceMs: seen.graceMs ?? 0,
    revocation: parseRevocation(seen),
  };
}

function parseRevocation(seen: Seen): Revocation | undefined {
  const { revokedAtMs, revokedBy, revokedReason, to } = seen;
  if (revokedAtMs === null) return undefined;
  const words = { by: revokedBy ?? '', reason: revokedReason ?? '', atMs: revokedAtMs };
  return to === null ? words : { ...words, to };
}

/** How soon to ask again for a name whose time is over, but that is not granted yet. */
const guardedMs = 50;

/**
 * What is in the way of a name that was not granted. A lease whose time is over may still be guarded by a transaction that
 * has checked it and has not ended; it is shown as held a little longer.
 */
export function parseObstacle(seen: Seen): LeaseRecord | undefined {
  const record = parseSeen(seen);
  if (record !== 'free') return record;
  if (seen.kind === 'lease') {
    const lease = parseLease(seen);
    return lease && { ...lease, remainingMs: guardedMs };
  }
  const { name, term, to } = seen;
  if (!isTerm(term) || to === null) return undefined;
  return { state: 'reserved', name, to, term, remainingMs: guardedMs };
}
