import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type AcquireRequest, type AcquireResult, Holder } from '../../src/coordinators/index.js';
import { usualNodeTimeoutMs } from '../../src/coordinators/redis-quorum/limits.js';
import {
  type RedisQuorumCoordinator,
  type RedisQuorumCoordinatorOptions,
  redisQuorumCoordinator,
} from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import type { RedisOptions, RedisServer } from '../support/servers/index.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';

export { call } from '../support/call.js';

export const longMs = 60_000;
export const act = { by: 'ops', reason: 'maintenance' };

let namespaceCount = 0;

/** Five masters for the file; each test has a namespace of its own, and leaves the masters as they were. */
export class RedisQuorumFixture {
  servers!: RedisQuorumServers;
  admins!: Redis[];
  #namespace = '';
  readonly #clients: RedisQuorumCoordinator[] = [];

  constructor(options: Omit<RedisOptions, 'port' | 'dir'> = {}) {
    beforeAll(async () => {
      this.servers = await startRedisQuorum(5, options);
      this.admins = this.nodes.map(({ url }) => new Redis(url));
      for (const admin of this.admins) admin.on('error', () => {});
    });
    afterEach(async () => {
      for (const node of this.nodes) node.thaw();
      await Promise.all(this.#clients.splice(0).map((client) => client.close()));
      this.#namespace = '';
      for (const node of this.nodes)
        if (node.clockOffsetMs !== 0) node.stepClock(-node.clockOffsetMs);
    });
    afterAll(async () => {
      for (const admin of this.admins ?? []) admin.disconnect();
      await this.servers?.stop();
    });
  }

  get nodes(): readonly RedisServer[] {
    return this.servers.nodes;
  }

  get namespace(): string {
    if (this.#namespace === '') this.#namespace = `test-${process.pid}-${namespaceCount++}`;
    return this.#namespace;
  }

  client(
    options: RedisQuorumCoordinatorOptions = {},
    url: string | readonly string[] = this.servers.url,
  ): RedisQuorumCoordinator {
    const client = redisQuorumCoordinator(url, { namespace: this.namespace, ...options });
    this.#clients.push(client);
    return client;
  }

  /** A client that knows the quorum, and a holder of this id. */
  async actor(id: string, options: RedisQuorumCoordinatorOptions = {}): Promise<QuorumActor> {
    const client = this.client(options);
    await client.read(['warm'], { timeoutMs: 30_000 });
    return new QuorumActor(client, Holder.create(id, realRuntime));
  }

  freeze(...numbers: number[]): void {
    for (const number of numbers) this.nodes[number]?.freeze();
  }

  thaw(...numbers: number[]): void {
    for (const number of numbers) this.nodes[number]?.thaw();
  }

  /**
   * Nodes are frozen while this actor does something, and for so long that what it sent to them comes too late: they never
   * hear of it.
   */
  async unheardBy<T>(
    numbers: readonly number[],
    actor: QuorumActor,
    action: () => Promise<T>,
  ): Promise<T> {
    const given = numbers.map((number) => {
      const port = `:${this.nodes[number]?.port}/`;
      return new Promise<void>((resolve) => {
        actor.client.on('disconnected', ({ address }) => {
          if (address.includes(port)) resolve();
        });
      });
    });
    this.freeze(...numbers);
    try {
      const result = await action();
      // A connection is given up when the time of a request on it is over; what was sent after that one has as long again.
      await Promise.all(given);
      await new Promise((resolve) => setTimeout(resolve, usualNodeTimeoutMs));
      return result;
    } finally {
      this.thaw(...numbers);
    }
  }

  /** What each node that can be asked has under a key of the namespace. */
  async textsOf(key: string): Promise<(string | null)[]> {
    return Promise.all(this.admins.map((admin) => admin.get(`{tenure:${this.namespace}}:${key}`)));
  }
}

export class QuorumActor {
  readonly client: RedisQuorumCoordinator;
  readonly holder: Holder;

  constructor(client: RedisQuorumCoordinator, holder: Holder) {
    this.client = client;
    this.holder = holder;
  }

  request(name: string, parts: Partial<AcquireRequest> = {}): AcquireRequest {
    const attempt = realRuntime.randomHex(16);
    return { name, holder: this.holder, attempt, ttlMs: longMs, ...parts };
  }

  async acquire(name: string, parts: Partial<AcquireRequest> = {}, options = call) {
    const [result] = await this.client.acquire([this.request(name, parts)], options);
    return result as AcquireResult;
  }

  async take(name: string, parts: Partial<AcquireRequest> = {}): Promise<number> {
    const result = await this.acquire(name, parts);
    return result.outcome === 'granted' ? result.term : expect.fail(JSON.stringify(result));
  }

  async renew(name: string, term: number, ttlMs = longMs): Promise<string> {
    const [result] = await this.client.renew([{ name, holder: this.holder, term, ttlMs }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? '');
  }

  async release(name: string, term: number): Promise<string> {
    const [result] = await this.client.release([{ name, holder: this.holder, term }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? '');
  }

  async isKeptOut(name: string): Promise<string> {
    const result = await this.acquire(name);
    return result.outcome === 'held' ? result.current.state : expect.fail(result.outcome);
  }

  /** Resolves when a node got its memory back from the others. */
  reseeded(): Promise<string> {
    return new Promise((resolve) => {
      this.client.on('node-reseeded', ({ address }) => resolve(address));
    });
  }
}
