import type { Fence, TransactionFence } from '../contract.js';

/**
 * What the suite needs to judge a fence whose `Transaction` is a batch: two handles on one resource, and plain access to
 * what is stored in it.
 */
export interface BatchFenceSubject<Transaction> {
  readonly fence: Fence<Transaction>;
  /** A second fence on the same resource, as another process would have it. */
  readonly other: Fence<Transaction>;
  /** Stores a text under a key, as part of the transaction, whatever stood there before. */
  write(transaction: Transaction, key: string, value: string): Promise<void>;
  /** The committed text of a key. Must not wait for open transactions. */
  read(key: string): Promise<string | undefined>;
  /** Ends all that was opened for this subject, both fences included. */
  close(): Promise<void>;
}

/** The same for a fence at a resource with interactive transactions. */
export interface FenceSubject<Transaction> extends BatchFenceSubject<Transaction> {
  readonly fence: TransactionFence<Transaction>;
  readonly other: TransactionFence<Transaction>;
  /** Runs `work` in a transaction that no fence knows of, as a user's own code would: commit, or roll back on a throw. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/** One requirement on every fence. `run` rejects, with an `AssertionError` where it can, if the fence breaks it. */
export interface BatchFenceCase {
  /** Stable, kebab-case. */
  readonly id: string;
  readonly title: string;
  run<Transaction>(subject: BatchFenceSubject<Transaction>): Promise<void>;
}

/** One requirement on every fence at a resource with interactive transactions. */
export interface FenceCase {
  /** Stable, kebab-case. */
  readonly id: string;
  readonly title: string;
  run<Transaction>(subject: FenceSubject<Transaction>): Promise<void>;
}
