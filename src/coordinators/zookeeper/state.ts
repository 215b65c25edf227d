import type { NodeStat } from '../../drivers/zookeeper/index.js';
import { type HistoryEntry, isActWord } from '../history.js';
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
  /** Nothing is known of the name, and its node is to be deleted: whoever needs one makes a new one. */
  readonly isSwept?: boolean;
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
 * plus `base`; nor is the leader's clock. So both are written as 0, and who writes next, knowing number and time of that
 * transaction from the node, writes them.
 */
interface Written {
  readonly tenure: number;
  readonly base?: number;
  readonly lease?: Omit<LeaseState, 'holder'> & { readonly holder: string };
  readonly after?: NameState['after'];
  readonly suspension?: Revocation;
  readonly history?: readonly HistoryEntry[];
  readonly swept?: true;
}

/** What the node of a name says that is to be deleted. */
export const sweptState: Buffer = Buffer.from(JSON.stringify({ tenure: format, swept: true }));

/** @param granted in the step that grants: the term that the rules foretold, and the base of the real one. */
export function encodeState(
  { lease, after, suspension, history = [] }: NameState,
  granted?: { readonly foretold: number; readonly base: number },
): Buffer {
  const isUnknown = ({ term }: { readonly term: number }): boolean => term === granted?.foretold;
  const written: Written = {
    tenure: format,
    ...(granted === undefined ? {} : { base: granted.base }),
    ...(lease && {
      lease: { ...lease, holder: lease.holder.wire, ...(isUnknown(lease) && unknown) },
    }),
    ...(after && { after }),
    ...(suspension && { suspension }),
    ...(history.length > 0 && {
      history: history.map((entry) =>
        entry.kind === 'term' && isUnknown(entry) ? { ...entry, ...unknown } : entry,
      ),
    }),
  };
  return Buffer.from(JSON.stringify(written));
}

const unknown = { term: 0, grantedAtMs: 0 } as const;

/** What is told of the transaction that wrote a text. */
type WrittenBy = Pick<NodeStat, 'modifiedZxid' | 'modifiedAtMs'>;

/** Puts the numbers of the granting transaction in their places. */
type Grant = (value: { readonly term: number; readonly grantedAtMs: number }) => {
  readonly term: number;
  readonly grantedAtMs: number;
};

/** @returns the state, or `undefined` if the text is none of ours. */
export function decodeState(data: Buffer, by: WrittenBy): NameState | undefined {
  if (data.length === 0) return {};
  const written = parseObject(data.toString()) as Partial<Written> | undefined;
  if (written?.tenure !== format) return undefined;
  try {
    const grant: Grant = ({ term, grantedAtMs }) =>
      term === 0
        ? { term: checkedTerm((written.base ?? 0) + by.modifiedZxid), grantedAtMs: by.modifiedAtMs }
        : { term: checkedTerm(term), grantedAtMs: number(grantedAtMs) };
    return {
      lease: decoded(written.lease, (lease) => decodeLease(lease, grant)),
      after: decoded(written.after, checkedAfter),
      suspension: decoded(written.suspension, checkedAct),
      history: written.history?.map((entry) => decodeEntry(entry, grant)),
      isSwept: written.swept === true,
    };
  } catch {
    return undefined;
  }
}

/** Only what is absent is nothing: `null` or `0` in its place was written by somebody else. */
function decoded<Value, Decoded>(
  value: Value | undefined,
  decode: (value: Value) => Decoded,
): Decoded | undefined {
  return value === undefined ? undefined : decode(value);
}

function decodeLease(written: NonNullable<Written['lease']>, grant: Grant): LeaseState {
  const holder = Holder.parse(text(written.holder));
  if (holder === undefined) throw new TypeError('no holder');
  return {
    holder,
    attempt: hex(written.attempt),
    ...grant(written),
    graceMs: number(written.graceMs),
    session: hex(written.session),
    revocation: decoded(written.revocation, checkedRevocation),
  };
}

function decodeEntry(entry: HistoryEntry, grant: Grant): HistoryEntry {
  if (entry.kind === 'act') {
    if (!isActWord(entry.act)) throw new TypeError('no act');
    return { ...checkedAct(entry), kind: 'act', act: entry.act };
  }
  const { holderId } = entry;
  const endedAtMs = decoded(entry.endedAtMs, number);
  const endReason = decoded(entry.endReason, text);
  const { term, grantedAtMs } = grant(entry);
  return { kind: 'term', term, holderId: text(holderId), grantedAtMs, endedAtMs, endReason };
}

function checkedAfter(after: NonNullable<NameState['after']>): NonNullable<NameState['after']> {
  number(after.deadlineMs);
  checkedTerm(after.term);
  if (after.kind === 'reservation') {
    const { term, deadlineMs } = after;
    return { kind: 'reservation', to: text(after.to), term, deadlineMs };
  }
  if (after.kind !== 'lock-delay') throw new TypeError('neither');
  const { revocation } = after;
  return { ...after, revocation: decoded(revocation, checkedRevocation) };
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
  if (written?.tenure !== format || !Number.isFinite(written.ttlMs)) return undefined;
  const { ttlMs, metadata } = written;
  return { ttlMs: ttlMs as number, metadata: typeof metadata === 'string' ? metadata : undefined };
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

/** Part of the path of a node. */
function hex(value: unknown): string {
  if (typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)) return value;
  throw new TypeError('not hexadecimal');
}

function checkedTerm(value: unknown): number {
  if (isTerm(value)) return value;
  throw new RangeError('no term');
}

function number(value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TypeError('no number');
}
