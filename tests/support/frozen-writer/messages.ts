import type { FreezePoint } from './store.js';

/** What the writer is to do in one round. */
export interface WriterTask {
  readonly round: number;
  readonly name: string;
  readonly term: number;
  readonly isFenced: boolean;
  readonly point: FreezePoint;
}

/** What it says: that it can be frozen now, and how the write ended that was frozen. */
export type WriterNews =
  | { readonly round: number; readonly at: 'ready' }
  | { readonly round: number; readonly at: 'end'; readonly outcome: string };
