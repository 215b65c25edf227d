/** What a process has in use after a collection of garbage. */
export interface Usage {
  readonly rssBytes: number;
  /** The heap, and what it holds outside of itself. */
  readonly heapBytes: number;
  /** Timers, sockets, requests: what Node knows as active. */
  readonly handleCount: number;
  /** Open files and sockets of the process. */
  readonly fileCount: number;
}

/** How much stands in a store. */
export interface StoreSize {
  /** Keys of Redis and rows of tables. */
  readonly keyCount: number;
  /** What those keys have in them, and the same rows. */
  readonly entryCount: number;
}

export interface Sample {
  /** Since the work began. */
  readonly atMs: number;
  readonly usage: Usage;
  /** `undefined` where the store is in the memory that is measured already. */
  readonly size: StoreSize | undefined;
}
