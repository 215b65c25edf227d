import type { Unsubscribe } from '../events/index.js';
import type { Act, RevokeRequest } from './acts.js';
import type {
  Call,
  Candidate,
  EnrollRequest,
  EnrollResult,
  WithdrawRequest,
} from './candidates.js';
import type { HistoryEntry } from './history.js';
import type { Holder } from './holder.js';
import type { LeaseRecord } from './record.js';

/**
 * The contract between tenure and a store that grants leases.
 *
 * Everything is batch-first: a call takes any number of requests for *different* names and answers each one by its
 * index. Compare and act are one step in the store, and the store reads its own clock while it executes. Contention is
 * a value; a call rejects only when the whole batch has no answer:
 *
 * - `UnreachableError`: not executed. `OutcomeUnknownError`: may have been executed, may be executed later.
 * - `StoreRefusedError`, `StoreMisconfiguredError`: answered, not executed. `ClosedError`: after `close()`.
 *
 * Every call settles within `timeoutMs`, whatever the store does. A call that timed out must not be executed by the
 * store after its deadline where the store has a clock ("not after"), and must not delay later calls. A request that
 * arrives too late is answered as such: an acquire with `too-late` for each name, all else with `StoreRefusedError`.
 */
export interface Coordinator {
  readonly promises: CoordinatorPromises;
  /**
   * How another thread of this process makes a coordinator of the same namespace of the same store, with a connection of
   * its own; absent if it cannot (a memory store, or a client that was passed in). Holds credentials: never log it, and
   * let it be no enumerable property, so that it is not in what is printed or serialized of a coordinator.
   */
  readonly recipe?: CoordinatorRecipe | undefined;

  /**
   * Grants each name that is free, expired, or reserved for this holder's id.
   *
   * The term is taken in the same step by rule T. It rises from grant to grant of a name, and from call to call in the
   * namespace; what one call grants may share one, so that the clock stays the floor of later terms. A second execution with the same holder and attempt answers as the
   * first did, with the same term, and extends nothing. The holder's own live lease from another attempt is `held`.
   * A suspended name, and one in its lock-delay, is granted to nobody: `held`, with a record that says so.
   */
  acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]>;

  /**
   * Extends each lease to `ttlMs` from now, if it is still this holder's, in this term. Never creates one, and never
   * revives one whose time is over, be its record still there for a lock-delay. A revoked lease is not extended.
   */
  renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]>;

  /**
   * Frees each lease that is still this holder's, in this term (or from this attempt), and wakes who watches or waits for
   * it. A clean end leaves no lock-delay. A revoked lease can be released too: what the operator wanted then follows (the
   * name stays suspended, is reserved for the successor, or is free).
   */
  release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]>;

  /**
   * Frees each lease as `release` does, but reserves the name for the holder id `to` during `reserveMs`: until then
   * nobody else is granted it. The successor acquires as usual, and gets a new term; if it is dead, the reservation
   * ends by itself.
   */
  handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]>;

  /**
   * What stands under each name now: a lease, a reservation, a lock-delay or a suspension; `undefined` if it is free.
   * Something foreign under one of the names rejects the whole call with `RecordCorruptError`; `list` leaves it out, and
   * a coordinator with events tells of each such name by `corrupt` before the list resolves.
   */
  read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]>;

  /** All names of a group (see `groupOf`) that are not free, as {@link read} shows them, in order of their code units. */
  list(group: string, call: CallOptions): Promise<LeaseRecord[]>;

  /**
   * Calls `wake` when a name of the group *may* have become free, when one with a history was granted, and when an operator
   * has revoked, suspended or resumed one: whoever shows who leads hears of a kill switch at once. A holder that does not
   * watch learns of it at its next renewal. Only a hint: wakes come late, twice or never; after a reconnect `wake` is called
   * without a name ("anything may have happened").
   */
  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe;

  /**
   * Calls `lost` when the connection that renewals go over broke or was abandoned: every lease becomes *uncertain* and
   * is renewed at once. A store without connections never calls it.
   */
  onConnectionLost(lost: () => void): Unsubscribe;

  /**
   * Enters the holder among the candidates of each name, or refreshes its entry for `ttlMs`; entries that are not
   * refreshed end by themselves. An entry grants nothing and blocks nobody: the queue only says who is called first.
   */
  enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]>;

  /** Removes this holder's entry for each name, if there is one. */
  withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void>;

  /** All live entries of a name: who waits, in the order in which they will be called; then the rest, by id. */
  candidates(name: string, call: CallOptions): Promise<Candidate[]>;

  /**
   * Calls `called` when a name for which this holder is enrolled and waiting *may* have become free, and this holder is
   * one of the first {@link calledCount} in its queue. However many wait, nobody else is woken. Only a hint, like
   * {@link watch}.
   */
  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe;

  /**
   * Ends the present term of a name by an operator's will: its holder's next renewal is refused with `revoked`, and the
   * name is granted to others when the holder has released it, or its ttl is over. With `to`, to that holder id first.
   *
   * Answers with the record as it stands now: `held` with its `revocation`, or whatever was there instead, also another
   * term than the request means (nothing is done then). The same request again changes nothing.
   */
  revoke(name: string, request: RevokeRequest, call: CallOptions): Promise<LeaseRecord | undefined>;

  /**
   * The kill switch: grants the name to nobody until {@link resume}, across restarts of everything but the store, and
   * revokes the present term. Answers with the record as it stands now; a name that was suspended before keeps the first
   * act.
   */
  suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord>;

  /** Ends a suspension; `false` if there was none. What is left of a revoked term still has its time to end in. */
  resume(name: string, act: Act, call: CallOptions): Promise<boolean>;

  /** The terms that were acquired with `keepHistory`, and all acts of operators, oldest first, the last {@link historyCount}. */
  history(name: string, call: CallOptions): Promise<HistoryEntry[]>;

  /** A small versioned text kept beside the leases, such as a table of pins; `undefined` if there is none. */
  readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined>;

  /** Writes the document if its version is still `expectedVersion` (0: it must not exist yet). */
  writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult>;

  /** Lets go of connections, timers and watches that this object opened. Ends no lease. Safe to call twice. */
  close(): Promise<void>;
}

/** What a store can promise. Printed to users, shown in the docs, and what the conformance suite checks. */
export interface CoordinatorPromises {
  /** The store's name, e.g. `memory` or `redis`. */
  readonly store: string;
  /** Between whom it excludes. */
  readonly scope: 'process' | 'machine' | 'network';
  /** One sentence: how exclusive a lease is, and what breaks it. */
  readonly exclusion: string;
  /** After which events a new term is still higher than every earlier one. */
  readonly termsSurvive: readonly TermHazard[];
  /** The one clock that judges expiry. */
  readonly expiryClock: 'process-monotonic' | 'server-wall' | 'server-monotonic';
  /** One sentence: how somebody who waits learns that a name is free, and what that costs. */
  readonly waking: string;
  /** The smallest and largest ttl the store grants, in milliseconds. */
  readonly smallestTtlMs: number;
  readonly largestTtlMs: number;
}

export type TermHazard =
  | 'restart-with-data'
  | 'restart-without-data'
  | 'deleted-record'
  | 'lost-replica';

/** `(await import(module))[factory](...args)` makes the coordinator. All of it can be sent to a worker thread. */
export interface CoordinatorRecipe {
  /** URL of a module of tenure's. */
  readonly module: string;
  readonly factory: string;
  readonly args: readonly unknown[];
}

export interface CallOptions {
  /** The call settles within this many milliseconds (monotonic), and is not executed by the store later than that. */
  readonly timeoutMs: number;
}

export interface AcquireRequest {
  readonly name: string;
  readonly holder: Holder;
  /** Random text of this one attempt: 32 lower-case hexadecimal digits. */
  readonly attempt: string;
  readonly ttlMs: number;
  /** The highest term seen at the resource: the granted one is higher. For healing a store that lost its terms. */
  readonly above?: number;
  /** JSON text of at most 4 KiB, kept with the lease for others to read. */
  readonly metadata?: string;
  /**
   * Lock-delay: for so long after the lease has *expired* the name is granted to nobody; never after a release. For work
   * that cannot be fenced. 0 to 24 h in milliseconds, default 0. Stays with the lease.
   */
  readonly graceMs?: number;
  /** Keep a line of history about this term, and wake the group's watchers of the grant. Default `false`. */
  readonly keepHistory?: boolean;
}

export type AcquireResult =
  | { readonly outcome: 'granted'; readonly term: number }
  | { readonly outcome: 'held'; readonly current: LeaseRecord }
  /** The store executed the request after its deadline and so refused it. Nothing was changed. */
  | { readonly outcome: 'too-late' }
  /** Something under this name is not ours: a foreign type, or text that is no record. It is left alone. */
  | { readonly outcome: 'corrupt'; readonly detail: string };

export interface RenewRequest {
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
  readonly ttlMs: number;
  /** Replaces the metadata; left as it is if absent. */
  readonly metadata?: string;
}

export type RenewResult = { readonly outcome: 'renewed' } | NotYours;

/**
 * There is no live lease under the name (`vanished`), or something else than the caller's (`superseded`); or it is the
 * caller's, and an operator has ended it (`revoked`; answered to renewals and handoffs alone).
 */
export interface NotYours {
  readonly outcome: 'not-yours';
  readonly reason: 'vanished' | 'superseded' | 'revoked';
}

/** By term; or by attempt, to undo an acquisition whose outcome is unknown. */
export type ReleaseRequest = {
  readonly name: string;
  readonly holder: Holder;
  /** Why, for the history: 1 to 32 of `a-z` and `-`. Default `released`. */
  readonly reason?: string;
} & ({ readonly term: number } | { readonly attempt: string });

export interface HandoffRequest {
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
  /** The id of the holder that alone may acquire next. */
  readonly to: string;
  readonly reserveMs: number;
}

export type EndResult = { readonly outcome: 'ended' } | NotYours;

export interface StoredDocument {
  /** 1 for the first write, then one more each time. */
  readonly version: number;
  readonly text: string;
}

export type WriteDocumentResult =
  | { readonly outcome: 'written'; readonly version: number }
  | { readonly outcome: 'conflict'; readonly current: StoredDocument | undefined };

/** The longest ttl of a lease or a candidate's entry, lock-delay and reservation that any store grants: 24 h. */
export const longestTtlMs = 24 * 60 * 60 * 1000;
/** The largest metadata of a lease, in UTF-8 bytes. */
export const largestMetadataBytes = 4096;
/** The largest document, in UTF-8 bytes. */
export const largestDocumentBytes = 1024 * 1024;
