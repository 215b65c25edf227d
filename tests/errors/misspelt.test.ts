import { describe, expect, it } from 'vitest';
import { etcdCoordinator, etcdFence } from '../../src/etcd.js';
import { Elections, Leases, Once, ShardWorker, StreamWorker, Topic } from '../../src/index.js';
import { memoryCoordinator, memoryJobs, memoryOnce, memoryStreams } from '../../src/memory.js';
import { postgresCoordinator, postgresOnce } from '../../src/postgres.js';
import {
  redisCoordinator,
  redisFence,
  redisOnce,
  redisQuorumCoordinator,
  redisStreams,
} from '../../src/redis.js';
import { Jobs, schedule } from '../../src/schedule.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { type Anything, cases } from './misspelt-cases.js';
import { publicCalls } from './public-calls.js';
import { withoutOptions } from './without-options.js';

const called = Object.entries(cases).flatMap(([name, own]) =>
  own.map(([call, wrong, right]) => ({ name, call, wrong, right })),
);

describe('an option that is misspelt', () => {
  it.each(called)(
    'is refused by $name, which says that $wrong may mean $right',
    async ({ call, wrong, right }) => {
      const refused = await Promise.resolve()
        .then(() => call({ [wrong]: 1 }))
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'TENURE_BAD_OPTION' });
      expect(String(refused)).toContain(`${wrong} is no option`);
      expect(String(refused)).toContain(`did you mean ${right}?`);
    },
  );

  it('may be one that is nowhere near: the others are listed', () => {
    expect(() => new Jobs(memoryJobs(), { retries: 3 } as Anything)).toThrow(
      'options.retries is no option (got "retries"): use some of timeoutMs, runtime',
    );
  });
});

describe('whatever the package lets be called with something', () => {
  const known = [...Object.keys(cases), ...Object.values(withoutOptions).flat()];

  it('refuses what is misspelt, or can have no such thing', () => {
    // A name here wants a case, or a reason in without-options.ts.
    expect(publicCalls().filter((name) => !known.includes(name))).toEqual([]);
  });

  it('is all that has a case or a reason, and one of them', () => {
    const there = publicCalls();
    // The class is not exported, only its type.
    expect(known.filter((name) => !there.includes(name))).toEqual(['Enrollment.update']);
    expect(known.filter((name, index) => known.indexOf(name) !== index)).toEqual([]);
  });
});

const redisUrl = 'redis://127.0.0.1:1';
const leases = () => new Leases(memoryCoordinator());
const topic = () => new Topic(memoryStreams());
const shardWorker = () => {
  const work = { begin: async () => {}, drain: async () => {}, drop: () => {} } as Anything;
  return new ShardWorker({ leases: leases(), group: 'g', work });
};
const streamWorker = () =>
  new StreamWorker({ topic: topic(), leases: leases(), group: 'g', handler: async () => {} });

const listened: readonly (readonly [string, (name: Anything) => unknown, string, string])[] = [
  [
    'a schedule',
    (name) => schedule(memoryJobs()).events.on(name, () => {}),
    'runfailed',
    'runFailed',
  ],
  ['a Once', (name) => new Once(memoryOnce()).on(name, () => {}), 'unkown', 'unknown'],
  ['leases', (name) => leases().events.on(name, () => {}), 'release', 'released'],
  [
    'an election',
    (name) => new Elections(leases()).election('a').events.on(name, () => {}),
    'elect',
    'elected',
  ],
  ['a topic', (name) => topic().events.on(name, () => {}), 'publish', 'published'],
  ['a shard worker', (name) => shardWorker().events.on(name, () => {}), 'takenover', 'takenOver'],
  [
    'a stream worker',
    (name) => streamWorker().events.on(name, () => {}),
    'handlerfailed',
    'handlerFailed',
  ],
  [
    'the shards of a stream worker',
    (name) => streamWorker().shardEvents.on(name, () => {}),
    'claim',
    'claimed',
  ],
  [
    'a coordinator on Redis',
    (name) => redisCoordinator(redisUrl).on(name, () => {}),
    'warnings',
    'warning',
  ],
  [
    'a quorum',
    (name) => redisQuorumCoordinator('redis+quorum://h:1,h:2,h:3').on(name, () => {}),
    'nodeout',
    'node-out',
  ],
  [
    'a coordinator on PostgreSQL',
    (name) => postgresCoordinator('postgres://h/d').on(name, () => {}),
    'disconnect',
    'disconnected',
  ],
  [
    'a coordinator in a file',
    (name) => sqliteCoordinator('x.db').on(name, () => {}),
    'corrupted',
    'corrupt',
  ],
  [
    'a coordinator on etcd',
    (name) => etcdCoordinator('etcd://h').on(name, () => {}),
    'corrupted',
    'corrupt',
  ],
  [
    'a coordinator on ZooKeeper',
    (name) => zookeeperCoordinator('zookeeper://h').on(name, () => {}),
    'expire',
    'expired',
  ],
  ['a fence in Redis', (name) => redisFence(redisUrl).on(name, () => {}), 'warnin', 'warning'],
  ['a fence in etcd', (name) => etcdFence('etcd://h').on(name, () => {}), 'Warning', 'warning'],
  [
    'streams in Redis',
    (name) => redisStreams(redisUrl, { topic: 't' }).on(name, () => {}),
    'connect',
    'connected',
  ],
  [
    'keys in Redis',
    (name) => redisOnce(redisUrl).on(name, () => {}),
    'diconnected',
    'disconnected',
  ],
  [
    'keys in PostgreSQL',
    (name) => postgresOnce('postgres://h/d').on(name, () => {}),
    'conected',
    'connected',
  ],
];

describe('an event that is misspelt', () => {
  it.each(listened)('is refused by %s, which says what may be meant', (_, listen, wrong, right) => {
    expect(() => listen(wrong)).toThrow(
      `event is told by nobody (got "${wrong}"): did you mean ${right}?`,
    );
  });
});
