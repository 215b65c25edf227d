import type { ErrorKind } from '../../errors/kinds.js';
import type { EndReason, LeaseState } from '../../leases/index.js';

/**
 * What a process that led has seen of what went wrong, kept in the store beside the history, so that it survives the
 * process. Times are Unix times by that process's clock; durations are milliseconds. Nothing here comes from payloads.
 */
export type Evidence = LossEvidence | NoteEvidence | RefusalEvidence;

/** What was seen when a term was lost. */
export interface LossEvidence {
  readonly kind: 'loss';
  readonly name: string;
  readonly term: number;
  readonly holderId: string;
  /** When the loss was noticed. */
  readonly atMs: number;
  /** As the process saw it; the history has what the store saw. */
  readonly reason: EndReason;
  /** What it was before it was lost: `uncertain` if something was known to be wrong. */
  readonly stateBefore: LeaseState;
  /** The name of the store, `redis-sentinel` say. */
  readonly store: string;
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  readonly giveUpAfterMs: number;
  readonly attemptTimeoutMs: number;
  readonly heldMs: number;
  /** From the sending of the last request that succeeded to the loss. */
  readonly sinceRenewedMs: number;
  /** Renewals that failed since then. */
  readonly missedCount: number;
  readonly renewals: RenewalsSeen;
  /** What failed since the last request that succeeded, by kind. */
  readonly errors: Readonly<Partial<Record<ErrorKind, number>>>;
  /** How often the connection broke since then. */
  readonly connectionLostCount: number;
  readonly machine: MachineSeen;
  /** A fence had this higher term installed when it refused the leader. */
  readonly installedTerm?: number;
}

/** Round trips to the store, over the last {@link renewalsKept} renewals of this process. */
export interface RenewalsSeen {
  readonly answeredCount: number;
  readonly failedCount: number;
  /** Of those that were answered; 0 if none was. */
  readonly quickMs: number;
  readonly medianMs: number;
  readonly slowMs: number;
  readonly largestMs: number;
  /** The last few, oldest first: how long each took, and how it failed if it did. */
  readonly last: readonly { readonly ms: number; readonly failed?: ErrorKind }[];
}

/** What the machine did to the process since the last request that succeeded was sent. */
export interface MachineSeen {
  /** The time this is about. */
  readonly overMs: number;
  /** The longest time the event loop stood still, and what its thread did meanwhile. */
  readonly longestStall: ThreadTime;
  /** What the thread did in all of the time. */
  readonly all: ThreadTime;
  /** Of that, the machine was suspended for. */
  readonly suspendedMs: number;
  /** By how much the wall clock was set, beside the others: positive forward. */
  readonly wallStepMs: number;
}

/** `undefined` where the system does not tell. */
export interface ThreadTime {
  readonly forMs: number;
  /** Computed. */
  readonly ranMs?: number;
  /** Was ready to compute, and waited for a processor. */
  readonly waitedMs?: number;
  /** The group of processes had used up its share of processors. */
  readonly throttledMs?: number;
}

/** Something that was seen beside a loss. */
export interface NoteEvidence {
  readonly kind: 'note';
  readonly name: string;
  readonly holderId: string;
  readonly atMs: number;
  readonly what: NoteKind;
  /** In which term; absent if in none. */
  readonly term?: number;
  /** The name and code of an error, never its message; or the size of a step. */
  readonly detail?: string;
}

export const noteKinds = [
  'duplicate-id',
  'work-failed',
  'work-returned',
  'work-overdue',
  'clock-stepped',
  'store-failed',
] as const;
export type NoteKind = (typeof noteKinds)[number];

/** What fences refused of one term at one kind of resource: it had no effect there. One entry, counted up as they come. */
export interface RefusalEvidence {
  readonly kind: 'refusals';
  readonly name: string;
  readonly term: number;
  readonly holderId: string;
  /** The first and, in `atMs`, the last of them. */
  readonly firstAtMs: number;
  readonly atMs: number;
  /** The kind of resource: `postgres`, `http`. */
  readonly resource: string;
  readonly count: number;
}

/** How many renewals a process remembers: ten minutes of them with the default ttl. */
export const renewalsKept = 64;
/** How many of them stand one by one in the evidence. */
export const renewalsShown = 8;
/** How many entries are kept of one name. */
export const evidenceCount = 30;
/** For how long: as the history. 30 days. */
export const evidenceLifeMs = 30 * 24 * 60 * 60 * 1000;
/** What is further ahead than this was written by a clock that is wrong, and is taken for now. */
export const mostAheadMs = 60 * 60 * 1000;
