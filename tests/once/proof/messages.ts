/** What a worker is to do: to want the effect of every key. */
export interface WorkerTask {
  readonly keys: readonly string[];
  /** The path of the file in which effects are counted. */
  readonly witness: string;
  /** Without: it looks at the witness, and then has the effect. */
  readonly isGuarded: boolean;
  /** The effect that it never comes out of: whoever is killed in it leaves an outcome that nobody knows. */
  readonly staysIn?: { readonly key: string; readonly isCharged: boolean };
}

/** What it says: that it can begin; what it was given for a key; that it stays where it should; that it has all. */
export type WorkerNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'receipt'; readonly key: string; readonly receipt: string }
  | { readonly kind: 'staying' }
  | { readonly kind: 'end'; readonly counts: WorkerCounts };

/** What it met. */
export interface WorkerCounts {
  /** Attempts of unknown outcome that it was asked about, and what it decided after a look at the witness. */
  readonly foundDone: number;
  readonly repeated: number;
}
