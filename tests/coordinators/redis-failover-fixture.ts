import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type AcquireResult, type Coordinator, Holder } from '../../src/coordinators/index.js';
import {
  type RedisCoordinator,
  type RedisCoordinatorOptions,
  redisCoordinator,
} from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import {
  type RedisServer,
  startRedisCluster,
  startRedisSentinels,
} from '../support/servers/index.js';

export { call } from '../support/call.js';

/** Several servers of which one has the leases, whatever decides which. */
export interface FailoverSet {
  readonly url: string;
  /** The server that has `key`, as the servers or sentinels see it. */
  owner(key: string): Promise<RedisServer>;
  /** Waits until they see another one than this. */
  succeeded(key: string, former: RedisServer): Promise<RedisServer>;
  /** By an operator's hand, while all live. */
  failover(key: string): Promise<RedisServer>;
  /** All replicas that there can be have caught up. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export const topologies: readonly [string, () => Promise<FailoverSet>][] = [
  [
    'sentinels',
    async () => {
      const set = await startRedisSentinels();
      return { ...set, owner: () => set.master(), succeeded: (_, former) => set.succeeded(former) };
    },
  ],
  [
    'a cluster',
    async () => {
      const cluster = await startRedisCluster({ nodeTimeoutMs: 800 });
      return {
        ...cluster,
        owner: (key) => cluster.ownerOf(key),
        failover: (key) => cluster.handOver(key),
      };
    },
  ],
];

export const ann = Holder.create('ann', realRuntime);
export const bob = Holder.create('bob', realRuntime);

let namespaceCount = 0;

/** A set for the file, and for each test a namespace of its own and coordinators that are closed after it. */
export class FailoverFixture {
  set!: FailoverSet;
  namespace = '';
  readonly #start: () => Promise<FailoverSet>;
  readonly #open: Coordinator[] = [];

  constructor(start: () => Promise<FailoverSet>) {
    this.#start = start;
    beforeAll(async () => {
      this.set = await this.#start();
    });
    beforeEach(() => {
      this.namespace = `failover/${process.pid}/${namespaceCount++}`;
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((client) => client.close()));
    });
    afterAll(() => this.set.stop());
  }

  /** A key of the namespace, for its slot. */
  get key(): string {
    return `{tenure:${this.namespace.replaceAll('/', '%2F')}}`;
  }

  client(options: RedisCoordinatorOptions = {}): RedisCoordinator {
    const client = redisCoordinator(this.set.url, {
      namespace: this.namespace,
      connectTimeoutMs: 500,
      ...options,
    });
    this.#open.push(client);
    return client;
  }

  owner(): Promise<RedisServer> {
    return this.set.owner(this.key);
  }
}

export async function acquire(
  client: Coordinator,
  name: string,
  holder: Holder,
  ttlMs = 60_000,
): Promise<AcquireResult> {
  const attempt = realRuntime.randomHex(16);
  const request = { name, holder, attempt, ttlMs, keepHistory: true };
  const [result] = await client.acquire([request], call);
  return result ?? expect.fail('a batch of one has one result');
}

export async function take(
  client: Coordinator,
  name: string,
  holder: Holder,
  ttlMs?: number,
): Promise<number> {
  const result = await acquire(client, name, holder, ttlMs);
  return result.outcome === 'granted' ? result.term : expect.fail(result.outcome);
}

export async function renew(
  client: Coordinator,
  name: string,
  holder: Holder,
  term: number,
  ttlMs = 60_000,
): Promise<string> {
  const [result] = await client.renew([{ name, holder, term, ttlMs }], call);
  return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? 'nothing');
}
