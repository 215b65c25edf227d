import type { FencingToken } from '../../../src/fences/index.js';

/** Where a write can be stopped: before it is sent, after the check of its token, or anywhere. */
export type FreezePoint = 'before' | 'inside' | 'anywhere';

/** One side of a resource, the old owner's or its successor's: a log per name, to which each appends. */
export interface LogSide {
  claim(token: FencingToken): Promise<void>;
  /**
   * Appends the token's term to the log of its name, in one step that ends after `inside` has resolved.
   *
   * @param isFenced whether the fence is asked; else the same without it.
   * @param inside called between the check (if there is one) and the commit; a resource whose check and write are one
   * message calls it before that is sent.
   */
  append(token: FencingToken, isFenced: boolean, inside: () => Promise<void>): Promise<void>;
  /** How often a term stands in the log of a name. What this returns can have been read before any later write. */
  count(name: string, term: number): Promise<number>;
  close(): Promise<void>;
}

/** Each store is a module: the writer imports it in a process of its own, by its address. */
export interface FencedStore {
  /** Of the module itself: `import.meta.url`. */
  readonly url: string;
  /**
   * How long a claim may wait for a writer that is frozen inside its step. Absent: for as long as that is frozen, so that
   * it is woken, and may finish what nobody was let past.
   */
  readonly claimLimitMs?: number;
  /** Creates what both sides write to. `target` is what `open` takes. */
  prepare(servers: FencedServers): Promise<{ readonly target: string; remove(): Promise<void> }>;
  open(target: string): Promise<LogSide>;
}

/** The servers that the tests have started. */
export interface FencedServers {
  readonly postgresUrl: string;
  readonly redisUrl: string;
}
