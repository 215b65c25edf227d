/** What a program would do with the plain client of the store, for want of a library: the other side of a ratio. */
export interface Reference {
  /** Takes the name and gives it back, by two requests. */
  pair(name: string): Promise<void>;
  /** What that includes, and what it leaves out. */
  readonly pairIs: string;
  /** Renews 256 names that were taken beforehand. */
  renew(): Promise<void>;
  readonly renewIs: string;
  close(): Promise<void>;
}

export const renewedCount = 256;
export const renewedNames = Array.from({ length: renewedCount }, (_, index) => `held-${index}`);
export const ttlMs = 30_000;
