import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { redisQuorumCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
/** Those of a single server. */
const documented = /^ACL SETUSER .*$/m.exec(readFileSync(protocol, 'utf8'))?.[0] ?? '';
/** For giving a node its memory back. */
const besides = ['+scan', '+type'];
const password = 'least-rights';

let servers: RedisQuorumServers;
let admins: Redis[];

beforeAll(async () => {
  servers = await startRedisQuorum(3);
  admins = servers.nodes.map(({ url }) => new Redis(url));
  const words = [...documented.replace('PASSWORD', password).split(' '), ...besides];
  await Promise.all(admins.map((admin) => admin.call(words[0] ?? '', ...words.slice(1))));
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await servers.stop();
});

it('the least rights are enough for everything, and for a node that lost its memory', async () => {
  const url = servers.url.replace('//', `//tenure:${password}@`);
  const coordinator = redisQuorumCoordinator(url, { namespace: 'rights' });
  const warnings: string[] = [];
  coordinator.on('warning', ({ message }) => warnings.push(message));
  const holder = Holder.create('ann', realRuntime);
  const name = 'group/job';
  const act = { by: 'ops', reason: 'why' };
  try {
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder, attempt, ttlMs: 60_000, keepHistory: true };
    const [granted] = await coordinator.acquire([request], call);
    const term = granted?.outcome === 'granted' ? granted.term : 0;
    expect(term).toBeGreaterThan(0);
    await coordinator.renew([{ name, holder, term, ttlMs: 60_000, metadata: '1' }], call);
    const entry = { name, holder, standing: 'waiting', preference: 0, ttlMs: 60_000 } as const;
    await coordinator.enroll([entry], call);
    expect(await coordinator.candidates(name, call)).toHaveLength(1);
    await coordinator.writeDocument('pins', 'text', 0, call);
    await coordinator.suspend('stopped', act, call);
    expect(await coordinator.list('group', call)).toHaveLength(1);
    const reseeded = new Promise((resolve) => {
      coordinator.on('node-reseeded', resolve);
    });
    await admins[1]?.flushall();
    await coordinator.read([name], call);
    await reseeded;
    expect(await coordinator.resume('stopped', act, call)).toBe(true);
    await coordinator.revoke(name, act, call);
    await coordinator.release([{ name, holder, term }], call);
    await coordinator.withdraw([entry], call);
    expect(await coordinator.readDocument('pins', call)).toEqual({ version: 1, text: 'text' });
    expect(await coordinator.history(name, call)).toHaveLength(2);
    expect(warnings).toEqual([]);
  } finally {
    await coordinator.close();
  }
});

it('a right that is missing at a majority is told', async () => {
  const url = servers.url.replace('//', `//tenure:${password}@`);
  for (const admin of admins) await admin.call('ACL', 'SETUSER', 'tenure', '-zadd');
  const coordinator = redisQuorumCoordinator(url, { namespace: 'rights' });
  const holder = Holder.create('ann', realRuntime);
  const attempt = realRuntime.randomHex(16);
  const request = { name: 'group/other', holder, attempt, ttlMs: 60_000 };
  try {
    await expect(coordinator.acquire([request], call)).rejects.toThrow(/NOPERM/);
  } finally {
    await coordinator.close();
    for (const admin of admins) await admin.call('ACL', 'SETUSER', 'tenure', '+zadd');
  }
});
