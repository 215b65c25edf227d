import type { CallOptions } from '../coordinators/index.js';
import type { Unsubscribe } from '../events/index.js';
import type { FencingToken } from '../fences/index.js';

/**
 * The contract between ordered streams and the store that keeps them: one append-only log per shard that holds exactly
 * the *unfinished* messages, in order. Acknowledging a message removes it, so what a crashed owner had in its hands is
 * simply the head of the log, and its successor cannot read anything newer before it.
 *
 * The log keeps the term that was last installed in it. Reading and acknowledging compare with that term in the same
 * step, so a worker that lost its shard can neither take a message nor finish one. Publishing needs no term.
 *
 * Errors are those of the coordinator contract, and every call settles within its `timeoutMs`. Something foreign under
 * one of the log's own names is left alone and reported: as the outcome `corrupt` of the items it concerns where a call
 * has one per item, else by rejecting with `RecordCorruptError`. Other items of the same call are served.
 */
export interface StreamStore {
  readonly promises: StreamPromises;

  /**
   * Agrees on how many shards the topic has: the first caller's number is kept with the topic, and everybody else's is
   * compared with it. Ask before the first `publish` and the first `install`: who counts other shards sends keys where
   * nobody looks for them.
   */
  describeTopic(shardCount: number, call: CallOptions): Promise<TopicResult>;

  /**
   * Appends each message to its shard's log, in the given order. In one step with the append it assigns the next `seq`
   * of the message's key (1, 2, 3, ... without a hole) and refuses an id that key has already used.
   */
  publish(requests: readonly PublishRequest[], call: CallOptions): Promise<PublishResult[]>;

  /**
   * Makes the token's term the one this shard's log obeys, unless a higher one, or an equal one of another holder, is
   * installed. Must succeed before the first `step` of a term. Repeating it is harmless.
   */
  install(requests: readonly InstallRequest[], call: CallOptions): Promise<InstallResult[]>;

  /**
   * For each shard, in one step and only under the installed token: removes the acknowledged messages, then returns up
   * to `limit` messages that follow `after`, oldest first. It may return fewer (an answer's size is bounded); only an
   * empty answer to a limit of 1 and above means that nothing is left. What stands before a foreign entry is returned;
   * `corrupt` is the answer once that entry is the next.
   */
  step(requests: readonly StepRequest[], call: CallOptions): Promise<StepResult[]>;

  /** Unfinished messages per shard, and how long ago the oldest of them was appended, by the store's clock. */
  backlog(shards: readonly number[], call: CallOptions): Promise<ShardBacklog[]>;

  /**
   * Calls `wake` when a shard's log *may* have become non-empty; `undefined` means any. Only a hint; it claims nothing,
   * so a frozen worker cannot swallow a message by having been waiting.
   */
  watch(wake: (shard: number | undefined) => void): Unsubscribe;

  /**
   * Closes a key in one shard for a move: later publishes of it there answer `moved`. Returns the last `seq` and whether
   * all its messages there are finished. Repeating it is how the mover waits for the drain.
   *
   * @param version of the table of pins that says so, 0 without a table. The log keeps the highest it was given for each
   * key, by `seal` or `open`; a lower one comes from a mover that was overtaken, is answered `superseded` and changes
   * nothing.
   */
  seal(shard: number, key: string, version: number, call: CallOptions): Promise<SealResult>;

  /**
   * Opens a key in a shard (again), its next `seq` following `lastSeq`. Never lowers a seq.
   *
   * @param version as for {@link seal}.
   */
  open(
    shard: number,
    key: string,
    lastSeq: number,
    version: number,
    call: CallOptions,
  ): Promise<OpenResult>;

  close(): Promise<void>;
}

export interface StreamPromises {
  readonly store: string;
  /** What acknowledged appends survive. */
  readonly durability: string;
  /** How long the id of a message is remembered, and so how late a repetition of it may come. */
  readonly dedupeWindowMs: number;
}

export type TopicResult =
  | { readonly outcome: 'agreed' }
  /** The topic was described with another number before; nothing was changed. */
  | { readonly outcome: 'differs'; readonly shardCount: number };

/**
 * Something under one of the log's names was not written by tenure, or by a newer one. Nothing was appended, installed
 * or read; what the request acknowledged may have been removed. It stays so until somebody looks into the store.
 */
export interface CorruptLog {
  readonly outcome: 'corrupt';
  /** Where it stands and what to do, for a person. */
  readonly detail: string;
}

export interface PublishRequest {
  readonly shard: number;
  readonly key: string;
  /** Unique per key, chosen by the publisher, so that a retry is recognised. */
  readonly id: string;
  /** JSON text. */
  readonly payload: string;
  /**
   * If the publisher numbers the messages itself (an outbox does): must be the key's next one. A lower one is answered
   * as `duplicate`, for ever, not only within the dedupe window; a higher one as `gap`.
   */
  readonly seq?: number;
}

export type PublishResult =
  | { readonly outcome: 'appended'; readonly seq: number }
  /** This id (or this `seq`) was accepted before, as `seq`; nothing was appended. */
  | { readonly outcome: 'duplicate'; readonly seq: number }
  | { readonly outcome: 'gap'; readonly lastSeq: number }
  /** The key is sealed here: it lives, or is about to live, in another shard. */
  | { readonly outcome: 'moved' }
  /** Executed by the store after the call's deadline and so refused; nothing was appended. */
  | { readonly outcome: 'too-late' }
  | CorruptLog;

export interface InstallRequest {
  readonly shard: number;
  readonly token: FencingToken;
}

export type InstallResult = { readonly outcome: 'installed' } | StaleToken | CorruptLog;

export interface StaleToken {
  readonly outcome: 'stale';
  /** The term the log obeys instead; `undefined` if the log has lost its state and obeys none. */
  readonly installedTerm: number | undefined;
}

export interface StepRequest {
  readonly shard: number;
  readonly token: FencingToken;
  /** Positions of messages whose effect is done, at most 1,000. */
  readonly acknowledge: readonly string[];
  /** Read behind this position; `undefined` from the head of the log. */
  readonly after: string | undefined;
  /** At most this many messages, up to 1,000; 0 reads none. */
  readonly limit: number;
}

export type StepResult =
  | {
      readonly outcome: 'ok';
      readonly messages: readonly StoredMessage[];
      /** How many of the acknowledged positions were still there. */
      readonly acknowledgedCount: number;
    }
  | StaleToken
  | CorruptLog;

export interface StoredMessage {
  /** Where it stands in the log; opaque, ordered by the store. */
  readonly position: string;
  readonly key: string;
  readonly seq: number;
  readonly id: string;
  readonly payload: string;
  /** Unix time of the append, by the store's clock. */
  readonly appendedAtMs: number;
}

export interface ShardBacklog {
  readonly shard: number;
  readonly count: number;
  /** `undefined` when the log is empty. */
  readonly oldestAgeMs: number | undefined;
}

export type SealResult =
  | { readonly outcome: 'sealed'; readonly lastSeq: number; readonly drained: boolean }
  | SupersededMove;

export type OpenResult = { readonly outcome: 'opened' } | SupersededMove;

/** The key was sealed or opened here under a higher version; nothing was changed. */
export interface SupersededMove {
  readonly outcome: 'superseded';
}
