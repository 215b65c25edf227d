import type { FaultProxy } from '../support/proxy.js';
import type { Disturbance } from './faults/fault.js';

export const storeNames = [
  'sqlite',
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'redis-quorum',
  'etcd',
  'postgres',
  'zookeeper',
] as const;
export type StoreName = (typeof storeNames)[number];

/** What all holders of a run want. */
export const electionName = 'payments';

export interface Timing {
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  readonly attemptTimeoutMs: number;
}

/** How one holder reaches the store: over proxies of its own. */
export interface Connection {
  readonly url: string;
  /** Where the servers that the store names by themselves are to be reached instead: `host:port` to `host:port`. */
  readonly addresses?: Readonly<Record<string, string>>;
}

/** A store of the run's own, and what can be done to it. */
export interface Stage {
  readonly timing: Timing;
  /** The connection of one seat; every call makes proxies of its own. */
  connect(): Promise<{ readonly connection: Connection; readonly proxies: readonly FaultProxy[] }>;
  /** Keeps everybody from being in the middle of something that excludes the others, until the returned call. */
  calm?(): Promise<() => void>;
  /** What happens to this store alone, by its kind. */
  readonly disturbances: Readonly<Record<string, Disturbance>>;
  /** Kinds that cannot be had on this machine, and why. */
  readonly impossible?: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}
