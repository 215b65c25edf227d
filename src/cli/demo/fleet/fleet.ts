import type { News } from '../news.js';

/** The workers of the shop, and what can befall them. Each method that does something says in words what it did. */
export interface Fleet {
  /** What its workers are, for the reader. */
  readonly kind: string;
  /** Starts a worker. Resolves when it is a member and has claimed its first shards. */
  spawn(id: string): Promise<void>;
  /** The shards that a worker believes to own. */
  heldBy(id: string): Promise<readonly number[]>;
  /** The end, without a word to anybody. */
  kill(id: string): string;
  /** It stands still as a whole and does not know it; everybody else goes on. */
  freeze(id: string): string;
  thaw(id: string): string;
  /** Everyone who is left gives back what they own and goes. */
  close(): Promise<void>;
}

export type TellNews = (news: News) => void;
