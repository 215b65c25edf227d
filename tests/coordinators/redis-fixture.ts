import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type AcquireRequest, Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import { type RedisCoordinator, redisCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type RedisOptions, type RedisServer, startRedis } from '../support/servers/index.js';

export { call } from '../support/call.js';

/** The hash tag of the fixture's namespace. */
export const tag = '{tenure:team%2Fa}';
export const dayMs = 24 * 60 * 60 * 1000;
export const operator = { by: 'ops', reason: 'maintenance' };

export const ann = Holder.create('ann', realRuntime);
export const bob = Holder.create('bob', realRuntime);

/** A server for the file and, for each test, an empty database and a coordinator of the namespace `team/a`. */
export class RedisFixture {
  coordinator!: RedisCoordinator;
  server!: RedisServer;
  admin!: Redis;

  constructor(options: RedisOptions = {}) {
    beforeAll(async () => {
      this.server = await startRedis(options);
      this.admin = new Redis(this.server.url);
    });
    beforeEach(async () => {
      await this.admin.flushall();
      this.coordinator = this.client();
    });
    afterEach(() => this.coordinator.close());
    afterAll(async () => {
      this.admin.disconnect();
      await this.server.stop();
    });
  }

  client(): RedisCoordinator {
    return redisCoordinator(this.server.url, { namespace: 'team/a' });
  }

  /** A key of ours; the name is encoded as far as the tests need it. */
  key(kind: string, name: string): string {
    return `${tag}:${kind}:${name.replaceAll('/', '%2F')}`;
  }

  async acquire(name: string, parts: Partial<AcquireRequest> = {}) {
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder: ann, attempt, ttlMs: 60_000, ...parts };
    const [result] = await this.coordinator.acquire([request], call);
    return result ?? expect.fail('a batch of one has one result');
  }

  async take(name: string, parts: Partial<AcquireRequest> = {}): Promise<number> {
    const result = await this.acquire(name, parts);
    return result.outcome === 'granted' ? result.term : expect.fail(result.outcome);
  }

  async renew(name: string, term: number, ttlMs = 60_000, holder = ann): Promise<string> {
    const [result] = await this.coordinator.renew([{ name, holder, term, ttlMs }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? 'nothing');
  }

  async release(name: string, term: number, holder = ann): Promise<string> {
    const [result] = await this.coordinator.release([{ name, holder, term }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? 'nothing');
  }

  async handOff(name: string, term: number, to: string, reserveMs: number): Promise<void> {
    await this.coordinator.handoff([{ name, holder: ann, term, to, reserveMs }], call);
  }

  async read(name: string): Promise<LeaseRecord | undefined> {
    return (await this.coordinator.read([name], call))[0];
  }
}
