import { describe, expect, it } from 'vitest';
import { nodeCronCoordinator } from '../../src/adapters/node-cron/index.js';
import { etcdCoordinator } from '../../src/coordinators/etcd/index.js';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { postgresCoordinator } from '../../src/coordinators/postgres/index.js';
import { redisCoordinator } from '../../src/coordinators/redis/index.js';
import { redisQuorumCoordinator } from '../../src/coordinators/redis-quorum/index.js';
import { sqliteCoordinator } from '../../src/coordinators/sqlite/index.js';
import { zookeeperCoordinator } from '../../src/coordinators/zookeeper/index.js';
import { Elections } from '../../src/elections/index.js';
import { etcdFence } from '../../src/fences/etcd/index.js';
import { expressFence } from '../../src/fences/http/index.js';
import { memoryFence } from '../../src/fences/memory/index.js';
import { mysqlFence } from '../../src/fences/mysql/index.js';
import { postgresFence } from '../../src/fences/postgres/index.js';
import { redisFence } from '../../src/fences/redis/index.js';
import { sqliteFence } from '../../src/fences/sqlite/index.js';
import { Leases } from '../../src/leases/index.js';
import { Once } from '../../src/once/index.js';
import { memoryOnce } from '../../src/once/memory/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { sqliteOnce } from '../../src/once/sqlite/index.js';
import { Jobs, schedule } from '../../src/schedule/index.js';
import { memoryJobs } from '../../src/schedule/memory/index.js';
import { postgresJobs } from '../../src/schedule/postgres/index.js';
import { redisJobs } from '../../src/schedule/redis/index.js';
import { sqliteJobs } from '../../src/schedule/sqlite/index.js';
import { StreamWorker, Topic } from '../../src/streams/index.js';
import { memoryStreams } from '../../src/streams/memory/index.js';
import { redisStreams } from '../../src/streams/redis/index.js';

const url = 'redis://127.0.0.1:1';
const leases = () => new Leases(memoryCoordinator());
const once = () => new Once(memoryOnce());
const jobs = () => schedule(memoryJobs());
const topic = () => new Topic(memoryStreams());

/** As a program that no compiler has seen would call it. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point
type Anything = any;

const called: readonly (readonly [string, (options: Anything) => unknown, string, string])[] = [
  ['new Leases', (o) => new Leases(memoryCoordinator(), o), 'ttl', 'ttlMs'],
  ['leases.acquire', (o) => leases().acquire('a', o), 'ttl', 'ttlMs'],
  ['leases.acquire', (o) => leases().acquire('a', o), 'waitms', 'waitMs'],
  ['leases.acquireMany', (o) => leases().acquireMany(['a'], o), 'aboove', 'above'],
  ['elections.election', (o) => new Elections(leases()).election('a', o), 'drain', 'drainMs'],
  ['new Once', (o) => new Once(memoryOnce(), o), 'keep', 'keepMs'],
  ['once.do', (o) => once().do('k', () => 1, o), 'timeout', 'timeoutMs'],
  ['schedule', (o) => jobs() && schedule(memoryJobs(), o), 'naem', 'name'],
  [
    'schedule.job',
    (o) => jobs().job('a', { cron: '@daily', ...o }, () => 1),
    'timezone',
    'timeZone',
  ],
  ['new Jobs', (o) => new Jobs(memoryJobs(), o), 'timeout', 'timeoutMs'],
  ['jobs.history', (o) => new Jobs(memoryJobs()).history('a', o), 'limits', 'limit'],
  ['memoryJobs', (o) => memoryJobs(undefined, o), 'links', 'link'],
  ['sqliteJobs', (o) => sqliteJobs('x.db', o), 'namespce', 'namespace'],
  ['postgresJobs', (o) => postgresJobs('postgres://h/d', o), 'shema', 'schema'],
  ['redisJobs', (o) => redisJobs(url, o), 'namespce', 'namespace'],
  ['memoryOnce', (o) => memoryOnce(undefined, o), 'links', 'link'],
  ['sqliteOnce', (o) => sqliteOnce('x.db', o), 'namespce', 'namespace'],
  ['postgresOnce', (o) => postgresOnce('postgres://h/d', o), 'shema', 'schema'],
  ['redisOnce', (o) => redisOnce(url, o), 'replica', 'replicas'],
  ['memoryCoordinator', (o) => memoryCoordinator(undefined, o), 'links', 'link'],
  ['sqliteCoordinator', (o) => sqliteCoordinator('x.db', o), 'namespce', 'namespace'],
  ['postgresCoordinator', (o) => postgresCoordinator('postgres://h/d', o), 'Schema', 'schema'],
  ['redisCoordinator', (o) => redisCoordinator(url, o), 'replica', 'replicas'],
  [
    'redisQuorumCoordinator',
    (o) => redisQuorumCoordinator(`${url},127.0.0.1:2,127.0.0.1:3`, o),
    'largestTtl',
    'largestTtlMs',
  ],
  ['etcdCoordinator', (o) => etcdCoordinator('etcd://h', o), 'prefx', 'prefix'],
  [
    'zookeeperCoordinator',
    (o) => zookeeperCoordinator('zookeeper://h', o),
    'namespaces',
    'namespace',
  ],
  ['new Topic', (o) => new Topic(memoryStreams(), o), 'shardcount', 'shardCount'],
  [
    'topic.publish',
    (o) => topic().publish({ key: 'k', id: 'i', payload: 1 }, o),
    'timeout',
    'timeoutMs',
  ],
  ['memoryStreams', (o) => memoryStreams(undefined, o), 'links', 'link'],
  [
    'redisStreams',
    (o) => redisStreams(url, { topic: 't', ...o }),
    'dedupeWindow',
    'dedupeWindowMs',
  ],
  ['new StreamWorker', (o) => new StreamWorker(o), 'prefetchcount', 'prefetchCount'],
  ['mysqlFence', (o) => mysqlFence('mysql://h/d', o), 'databse', 'database'],
  ['postgresFence', (o) => postgresFence('postgres://h/d', o), 'lease', 'leases'],
  ['sqliteFence', (o) => sqliteFence('x.db', o), 'waitTimeout', 'waitTimeoutMs'],
  ['redisFence', (o) => redisFence(url, o), 'hashtag', 'hashTag'],
  ['etcdFence', (o) => etcdFence('etcd://h', o), 'timeout', 'timeoutMs'],
  [
    'expressFence',
    (o) => expressFence({ fence: memoryFence(), resource: 'r', ...o }),
    'retryAfter',
    'retryAfterMs',
  ],
  ['nodeCronCoordinator', (o) => nodeCronCoordinator(memoryJobs(), o), 'keepRun', 'keepRuns'],
];

describe('an option that is misspelt', () => {
  it.each(called)(
    'is refused by %s, which says what may be meant',
    async (_, call, wrong, right) => {
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

const listened: readonly (readonly [string, (name: Anything) => unknown, string, string])[] = [
  ['a schedule', (name) => jobs().events.on(name, () => {}), 'runfailed', 'runFailed'],
  ['a Once', (name) => once().on(name, () => {}), 'unkown', 'unknown'],
  ['leases', (name) => leases().events.on(name, () => {}), 'release', 'released'],
  [
    'an election',
    (name) => new Elections(leases()).election('a').events.on(name, () => {}),
    'elect',
    'elected',
  ],
  ['a topic', (name) => topic().events.on(name, () => {}), 'publish', 'published'],
];

describe('an event that is misspelt', () => {
  it.each(listened)('is refused by %s, which says what may be meant', (_, listen, wrong, right) => {
    expect(() => listen(wrong)).toThrow(
      `event is told by nobody (got "${wrong}"): did you mean ${right}?`,
    );
  });
});
