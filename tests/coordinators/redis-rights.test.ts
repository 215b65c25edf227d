import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Coordinator, Holder } from '../../src/coordinators/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { conformanceCases, runConformanceCase } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { redisTarget, singlePlace } from './redis-target.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
const documented = /^ACL SETUSER .*$/m.exec(readFileSync(protocol, 'utf8'))?.[0] ?? '';
const password = 'least-rights';

describe('with the rights that docs/protocol.md lists, and no others,', () => {
  let server: RedisServer;
  let admin: Redis;
  const target = redisTarget('redis, least rights', () =>
    singlePlace(server, `tenure:${password}@`),
  );

  beforeAll(async () => {
    // Nothing else to warn of than a right that is missing.
    server = await startRedis({ appendonly: 'always' });
    admin = new Redis(server.url);
    const words = documented.replace('PASSWORD', password).split(' ');
    await admin.call(words[0] ?? '', ...words.slice(1));
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  const concurrently = concurrentCases();
  for (const conformanceCase of conformanceCases.filter(({ needs }) => needs.length === 0))
    concurrently.it(conformanceCase.title, () => runConformanceCase(conformanceCase, target));

  it('nothing else can be reached', async () => {
    const user = new Redis(server.url.replace('//', `//tenure:${password}@`), { protocol: 2 });
    await expect(user.get('other')).rejects.toThrow('NOPERM');
    await expect(user.flushall()).rejects.toThrow('NOPERM');
    user.disconnect();
  });

  it('each right is needed: without it something is refused or reported', async () => {
    const rights = documented.split(' ').filter((word) => word.startsWith('+'));
    // For URLs that name a database; for the name of a connection in CLIENT LIST; to notice a dead socket of the
    // watches, and to leave one group while another is watched. None of these shows within one call.
    const unseen = ['+select', '+client|setname', '+ping', '+unsubscribe'];
    expect(await everythingWorks(server)).toBe(true);
    const spared: string[] = [];
    for (const right of rights.filter((word) => !unseen.includes(word))) {
      await admin.call('ACL', 'SETUSER', 'tenure', `-${right.slice(1)}`);
      if (await everythingWorks(server)) spared.push(right);
      await admin.call('ACL', 'SETUSER', 'tenure', right);
    }
    expect(spared).toEqual([]);
  });
});

/** One call of every operation; whether all were answered without an error or a warning, and the wake and the call came. */
async function everythingWorks(server: RedisServer): Promise<boolean> {
  const namespace = realRuntime.randomHex(4);
  const url = server.url.replace('//', `//tenure:${password}@`);
  const coordinator = redisCoordinator(url, { namespace });
  let warningCount = 0;
  coordinator.on('warning', () => {
    warningCount += 1;
  });
  const admin = new Redis(server.url);
  await admin.script('FLUSH');
  try {
    const told = await listening(coordinator);
    await useCandidates(coordinator);
    const isIndexClean = await useLeases(coordinator, admin, `{tenure:${namespace}}:group:group`);
    await useActs(coordinator);
    await coordinator.readDocument('document', call);
    await coordinator.writeDocument('document', '', 0, call);
    return (await told()) && isIndexClean && warningCount === 0;
  } catch {
    return false;
  } finally {
    admin.disconnect();
    await coordinator.close();
  }
}

const ann = Holder.create('ann', realRuntime);
const name = 'group/name';

/** Resolves when the coordinator listens, or could not: with a function that tells whether wake and call have come. */
async function listening(coordinator: Coordinator): Promise<() => Promise<boolean>> {
  const heard = { wake: new Listening(), call: new Listening() };
  coordinator.watch('group', (freed) => heard.wake.hear(freed));
  coordinator.onCalled(ann, (called) => heard.call.hear(called.name));
  await Promise.all([heard.wake.subscribed, heard.call.subscribed]);
  return async () => (await heard.wake.woken) && (await heard.call.woken);
}

/** Told without a name first, when it is subscribed; and then of the name, if it has the right to hear of it. */
class Listening {
  readonly subscribed: Promise<boolean>;
  readonly woken: Promise<boolean>;
  readonly #events = new EventTarget();

  constructor() {
    this.subscribed = this.#within('subscribed', 300);
    this.woken = this.#within('woken', 600);
  }

  hear(heard: string | undefined): void {
    this.#events.dispatchEvent(new Event(heard === name ? 'woken' : 'subscribed'));
  }

  #within(event: string, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#events.addEventListener(event, () => resolve(true));
      setTimeout(() => resolve(false), limitMs);
    });
  }
}

async function useCandidates(coordinator: Coordinator): Promise<void> {
  const entry = { name, holder: ann, standing: 'waiting', preference: 0, ttlMs: 5_000 } as const;
  await coordinator.enroll([entry], call);
  await coordinator.enroll([{ ...entry, holder: Holder.create('bob', realRuntime) }], call);
  await coordinator.withdraw([{ name, holder: Holder.create('cid', realRuntime) }], call);
  await coordinator.candidates(name, call);
}

/** @returns whether the index of the group was kept as it should be. */
async function useLeases(coordinator: Coordinator, admin: Redis, index: string): Promise<boolean> {
  await admin.zadd(index, 1, 'group/dead');
  const term = await take(coordinator, 1_000);
  await admin.persist(index);
  await coordinator.renew([{ name, holder: ann, term, ttlMs: 1_000 }], call);
  await coordinator.renew([{ name, holder: ann, term, ttlMs: 2_000, metadata: '{}' }], call);
  await take(coordinator, 1_000);
  await coordinator.renew([{ name: 'group/gone', holder: ann, term, ttlMs: 1_000 }], call);
  await coordinator.read([name], call);
  await coordinator.release([{ name, holder: ann, term }], call);
  await admin.zadd(index, Date.now() + 60_000, 'group/dead');
  await coordinator.list('group', call);
  return (await admin.zcard(index)) === 0 && (await admin.pttl(index)) !== -1;
}

async function useActs(coordinator: Coordinator): Promise<void> {
  const act = { by: 'ops', reason: 'test' };
  await take(coordinator, 1_000);
  await coordinator.revoke(name, act, call);
  await coordinator.suspend(name, act, call);
  await coordinator.resume(name, act, call);
  await coordinator.history(name, call);
}

async function take(coordinator: Coordinator, ttlMs: number): Promise<number> {
  const attempt = realRuntime.randomHex(16);
  const request = { name, holder: ann, attempt, ttlMs, keepHistory: true };
  const [result] = await coordinator.acquire([request], call);
  return result?.outcome === 'granted' ? result.term : 0;
}
