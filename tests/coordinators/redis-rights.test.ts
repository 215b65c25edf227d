import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { conformanceCases, runConformanceCase } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { redisTarget } from './redis-target.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
const documented = /^ACL SETUSER .*$/m.exec(readFileSync(protocol, 'utf8'))?.[0] ?? '';
const password = 'least-rights';

describe('with the rights that docs/protocol.md lists, and no others,', () => {
  let server: RedisServer;
  let admin: Redis;
  const target = redisTarget('redis, least rights', () => server, { login: `tenure:${password}@` });

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    const words = documented.replace('PASSWORD', password).split(' ');
    await admin.call(words[0] ?? '', ...words.slice(1));
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  for (const conformanceCase of conformanceCases.filter(({ needs }) => needs.length === 0))
    it(conformanceCase.title, () => runConformanceCase(conformanceCase, target));

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
    const spared: string[] = [];
    for (const right of rights.filter((word) => !unseen.includes(word))) {
      await admin.call('ACL', 'SETUSER', 'tenure', `-${right.slice(1)}`);
      if (await everythingWorks(server)) spared.push(right);
      await admin.call('ACL', 'SETUSER', 'tenure', right);
    }
    expect(spared).toEqual([]);
  });
});

/** One call of every operation; whether all were answered without an error or a warning, and the wake came. */
async function everythingWorks(server: RedisServer): Promise<boolean> {
  const namespace = realRuntime.randomHex(4);
  const url = server.url.replace('//', `//tenure:${password}@`);
  const coordinator = redisCoordinator(url, { namespace });
  const holder = Holder.create('ann', realRuntime);
  const call = { timeoutMs: 1_000 };
  const name = 'group/name';
  const acquire = async (ttlMs: number) => {
    const attempt = realRuntime.randomHex(16);
    const [result] = await coordinator.acquire([{ name, holder, attempt, ttlMs }], call);
    return result?.outcome === 'granted' ? result.term : 0;
  };
  let warningCount = 0;
  coordinator.on('warning', () => {
    warningCount += 1;
  });
  const admin = new Redis(server.url);
  const index = `{tenure:${namespace}}:group:group`;
  await admin.script('FLUSH');
  try {
    const woken = new Promise<boolean>((resolve) => {
      let isSubscribed = false;
      coordinator.watch('group', (freed) => {
        if (freed === name) resolve(true);
        else if (!isSubscribed) {
          isSubscribed = true;
          subscribed();
        }
      });
      setTimeout(() => resolve(false), 300);
    });
    let subscribed = () => {};
    await Promise.race([
      woken,
      new Promise<void>((resolve) => {
        subscribed = resolve;
      }),
    ]);
    await admin.zadd(index, 1, 'group/dead');
    const term = await acquire(1_000);
    await admin.persist(index);
    await coordinator.renew([{ name, holder, term, ttlMs: 1_000 }], call);
    await coordinator.renew([{ name, holder, term, ttlMs: 2_000, metadata: '{}' }], call);
    await acquire(1_000);
    await coordinator.renew([{ name: 'group/gone', holder, term, ttlMs: 1_000 }], call);
    await coordinator.read([name], call);
    await coordinator.release([{ name, holder, term }], call);
    await admin.zadd(index, Date.now() + 60_000, 'group/dead');
    await coordinator.list('group', call);
    const isClean = (await admin.zcard(index)) === 0 && (await admin.pttl(index)) !== -1;
    await coordinator.readDocument('document', call);
    await coordinator.writeDocument('document', '', 0, call);
    return (await woken) && isClean && warningCount === 0;
  } catch {
    return false;
  } finally {
    admin.disconnect();
    await coordinator.close();
  }
}
