/** What a worker is to do: to want the effect of every key. */
export interface WorkerTask {
  readonly keys: readonly string[];
  /** The path of the file in which effects are counted. */
  readonly witness: string;
  /** Without: it looks at the witness, and then has the effect. */
  readonly isGuarded: boolean;
}

/** What it says: that it can begin; what it was given for a key; that it has all of the task. */
export type WorkerNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'receipt'; readonly key: string; readonly receipt: string }
  | { readonly kind: 'end'; readonly counts: WorkerCounts };

/** What it met. */
export interface WorkerCounts {
  /** Attempts of unknown outcome that it was asked about, and what it decided after a look at the witness. */
  readonly foundDone: number;
  readonly repeated: number;
}
