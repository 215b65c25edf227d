import type { Unsubscribe } from '../events/index.js';
import type { BoundedValues } from './bounded.js';
import type { Instruments } from './catalogue.js';

/** What those who observe a source put their figures into. */
export interface Site {
  readonly instruments: Instruments;
  readonly names: BoundedValues;
  /** Topics and groups with more shards than this have one series for all of them. */
  readonly shardSeriesLimit: number;
  /** Whether collections may ask the store for what no event tells. */
  readonly asksStore: boolean;
  /** Asked in each collection. */
  onCollect(collector: Collector): Unsubscribe;
  /** Another source that belongs to one that is observed. */
  observe(source: object, name: string | undefined): Unsubscribe;
}

export interface Collector {
  /** What takes its time, such as a question to the store. Must not reject. */
  readonly prepare?: () => Promise<void>;
  /** Tells the gauges; those of all collectors in one turn. */
  readonly tell: () => void;
}

export function all(...subscriptions: readonly Unsubscribe[]): Unsubscribe {
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}
