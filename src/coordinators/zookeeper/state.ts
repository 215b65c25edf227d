import type { HistoryEntry } from '../history.js';
import { Holder } from '../holder.js';
import type { Revocation } from '../record.js';
import type { StoredLockDelay, StoredReservation, StoredRevocation } from '../rules/record.js';
import { isTerm } from '../term.js';

/**
 * What the node of a name says. Whether a lease is alive says the ephemeral node of its attempt: its node, not this
 * text.
 */
export interface NameState {
  readonly lease?: LeaseState | undefined;
  /** What followed a lease that is over: its lock-delay, or a reservation. Deadlines are Unix ms by the leader's clock. */
  readonly after?: StoredLockDelay | StoredReservation | undefined;
  readonly suspension?: Revocation | undefined;
  readonly history?: readonly HistoryEntry[] | undefined;
}

export interface LeaseState {
  readonly holder: Holder;
  readonly attempt: string;
  readonly term: number;
  readonly graceMs: number;
  readonly grantedAtMs: number;
  /** The node of the session that the lease goes with. */
  readonly session: string;
  readonly revocation: StoredRevocation | undefined;
}

/** The format of all texts in the nodes. */
const format = 1;

/**
 * A text as it is written. In the step that grants, the term is not known: it is the number of that very transaction
 * plus `base`. So it is written as 0, and who writes next, knowing the number from the node, writes the term.
 */
interface Written {
  readonly tenure: number;
  readonly base?: number;
  readonly lease?: Omit<LeaseState, 'holder'> & { readonly holder: string };
  readonly after?: NameState['after'];
  readonly suspension?: Revocation;
  readonly history?: readonly HistoryEntry[];
}

/** @param granted in the step that grants: the term that the rules foretold, and the base of the real one. */
export function encodeState(
  { lease, after, suspension, history = [] }: NameState,
  granted?: { readonly foretold: number; readonly base: number },
): Buffer {
  const unknown = (term: number): number => (term === granted?.foretold ? 0 : term);
  const written: Written = {
    tenure: format,
    ...(granted === undefined ? {} : { base: granted.base }),
    ...(lease && { lease: { ...lease, holder: lease.holder.wire, term: unknown(lease.term) } }),
    ...(after && { after }),
    ...(suspension && { suspension }),
    ...(history.length > 0 && {
      history: history.map((entry) =>
        entry.kind === 'term' ? { ...entry, term: unknown(entry.term) } : entry,
      ),
    }),
  };
  return Buffer.from(JSON.stringify(written));
}

/** @returns the state, or `undefined` if the text is none of ours. */
export function decodeState(data: Buffer, modifiedZxid: number): NameState | undefined {
  if (data.length === 0) return {};
  const written = parseObject(data.toString()) as Partial<Written> | undefined;
  if (written?.tenure !== format) return undefined;
  try {
    const term = (value: number): number => {
      const real = value === 0 ? (written.base ?? Number.NaN) + modifiedZxid : value;
      if (!isTerm(real)) throw new RangeError('no term');
      return real;
    };
    const lease = written.lease && decodeLease(written.lease, term);
    const after = written.after && { ...written.after, term: term(written.after.term) };
    return {
      lease,
      after: after && checkedAfter(after),
      suspension: written.suspension && checkedAct(written.suspension),
      history: written.history?.map((entry) => decodeEntry(entry, term)),
    };
  } catch {
    return undefined;
  }
}

function decodeLease(
  written: NonNullable<Written['lease']>,
  term: (value: number) => number,
): LeaseState {
  const holder = Holder.parse(text(written.holder));
  if (holder === undefined) throw new TypeError('no holder');
  return {
    holder,
    attempt: text(written.attempt),
    term: term(written.term),
    graceMs: number(written.graceMs),
    grantedAtMs: number(written.grantedAtMs),
    session: text(written.session),
    revocation: written.revocation && checkedRevocation(written.revocation),
  };
}

function decodeEntry(entry: HistoryEntry, term: (value: number) => number): HistoryEntry {
  if (entry.kind === 'act') return { ...checkedAct(entry), kind: 'act', act: entry.act };
  const { holderId, grantedAtMs, endedAtMs, endReason } = entry;
  return {
    kind: 'term',
    term: term(entry.term),
    holderId: text(holderId),
    grantedAtMs: number(grantedAtMs),
    endedAtMs,
    endReason,
  };
}

function checkedAfter(after: NonNullable<NameState['after']>): NonNullable<NameState['after']> {
  number(after.deadlineMs);
  if (after.kind === 'reservation') {
    text(after.to);
    return after;
  }
  if (after.kind !== 'lock-delay') throw new TypeError('neither');
  const { revocation } = after;
  return { ...after, revocation: revocation && checkedRevocation(revocation) };
}

function checkedRevocation(revocation: StoredRevocation): StoredRevocation {
  return { ...checkedAct(revocation), reserveMs: number(revocation.reserveMs) };
}

function checkedAct({ by, reason, atMs, to }: Revocation): Revocation {
  const successor = to === undefined ? {} : { to: text(to) };
  return { by: text(by), reason: text(reason), atMs: number(atMs), ...successor };
}

/** What the node of a lease says: what changes with renewals. */
export interface LeaseParticulars {
  readonly ttlMs: number;
  readonly metadata: string | undefined;
}

export function encodeLease({ ttlMs, metadata }: LeaseParticulars): Buffer {
  return Buffer.from(JSON.stringify({ tenure: format, ttlMs, metadata }));
}

export function decodeLeaseNode(data: Buffer): LeaseParticulars | undefined {
  const written = parseObject(data.toString()) as
    | { tenure?: unknown; ttlMs?: unknown; metadata?: unknown }
    | undefined;
  if (written?.tenure !== format || typeof written.ttlMs !== 'number') return undefined;
  const { ttlMs, metadata } = written;
  return { ttlMs, metadata: typeof metadata === 'string' ? metadata : undefined };
}

export function parseObject(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('no text');
}

function number(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TypeError('no number');
}
