import { etcdCoordinator, etcdFence } from '../../src/etcd.js';
import { expressFence, fastifyFence, honoFence, nodeFence } from '../../src/http.js';
import {
  adviseTtl,
  diagnose,
  Elections,
  Leases,
  measureForTtl,
  movePin,
  Once,
  Pins,
  resolveTiming,
  ShardWorker,
  StreamWorker,
  Topic,
} from '../../src/index.js';
import {
  FaultLink,
  MemoryKeys,
  MemoryStore,
  MemoryStreams,
  memoryCoordinator,
  memoryFence,
  memoryJobs,
  memoryOnce,
  memoryStreams,
} from '../../src/memory.js';
import { mysqlFence } from '../../src/mysql.js';
import { SingletonCron, TenureModule } from '../../src/nestjs.js';
import { nodeCronCoordinator } from '../../src/node-cron.js';
import { otelMetrics, otelSpans } from '../../src/otel.js';
import {
  migratePostgres,
  postgresCoordinator,
  postgresFence,
  postgresJobs,
  postgresOnce,
  postgresRowGuard,
} from '../../src/postgres.js';
import { prometheusMetrics } from '../../src/prometheus.js';
import {
  redisCoordinator,
  redisFence,
  redisJobs,
  redisOnce,
  redisQuorumCoordinator,
  redisStreams,
} from '../../src/redis.js';
import { Jobs, Schedule, schedule } from '../../src/schedule.js';
import { explain, planOf, run, runMany, SimHost, shrink } from '../../src/sim.js';
import { sqliteCoordinator, sqliteFence, sqliteJobs, sqliteOnce } from '../../src/sqlite.js';
import { FaultyCoordinator, TestFleet, TestProcess, VirtualRuntime } from '../../src/testing.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';

/** As a program that no compiler has seen would call it. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point
export type Anything = any;

type Case = readonly [call: (options: Anything) => unknown, wrong: string, right: string];

const redisUrl = 'redis://127.0.0.1:1';
const postgresUrl = 'postgres://h/d';
const act = { by: 'me', reason: 'a test' };
const leases = () => new Leases(memoryCoordinator());
const election = () => new Elections(leases()).election('a');
const once = () => new Once(memoryOnce());
const jobs = () => new Jobs(memoryJobs());
const topic = () => new Topic(memoryStreams());
const enrolled = () => leases().enroll('a', { standing: 'present' });
const http = (o: Anything) => ({ fence: memoryFence(), resource: 'r', ...o });
const failed = { plan: {}, violation: undefined } as Anything;
const simulated = () =>
  new SimHost({ machine: { id: 'p1' }, coordinator: memoryCoordinator() } as Anything);
const runtime = new VirtualRuntime();

/**
 * Every public function and constructor that takes options, by the name under which it is exported, and methods behind their
 * class: called with one that is misspelt, and what is meant. Options within options have a case of their own.
 */
export const cases: Readonly<Record<string, readonly Case[]>> = {
  Leases: [[(o) => new Leases(memoryCoordinator(), o), 'ttl', 'ttlMs']],
  'Leases.acquire': [
    [(o) => leases().acquire('a', o), 'ttl', 'ttlMs'],
    [(o) => leases().acquire('a', o), 'waitms', 'waitMs'],
  ],
  'Leases.acquireMany': [[(o) => leases().acquireMany(['a'], o), 'aboove', 'above']],
  'Leases.enroll': [
    [(o) => leases().enroll('a', { standing: 'present', ...o }), 'preferense', 'preference'],
  ],
  'Enrollment.update': [[(o) => enrolled().update(o), 'metdata', 'metadata']],
  resolveTiming: [[(o) => resolveTiming(o), 'ttl', 'ttlMs']],
  Elections: [[(o) => new Elections(leases(), o), 'evidense', 'evidence']],
  'Elections.election': [[(o) => new Elections(leases()).election('a', o), 'drain', 'drainMs']],
  'Election.campaign': [[(o) => election().campaign(o), 'wait', 'waitMs']],
  'Election.lead': [[(o) => election().lead(async () => {}, o), 'sginal', 'signal']],
  'Election.observe': [[(o) => election().observe(o), 'Signal', 'signal']],
  'Election.suspend': [[(o) => election().suspend({ ...act, ...o }), 'reasn', 'reason']],
  'Election.resume': [[(o) => election().resume({ ...act, ...o }), 'reasn', 'reason']],
  'Election.revoke': [[(o) => election().revoke({ ...act, ...o }), 'trem', 'term']],
  diagnose: [
    [(o) => diagnose({ coordinator: memoryCoordinator(), name: 'a', ...o }), 'since', 'sinceMs'],
  ],
  measureForTtl: [
    [
      (o) => measureForTtl({ coordinator: memoryCoordinator(), forMs: 1, ...o }),
      'every',
      'everyMs',
    ],
  ],
  adviseTtl: [[(o) => adviseTtl([], o), 'onceIn', 'onceInMs']],
  Once: [[(o) => new Once(memoryOnce(), o), 'keep', 'keepMs']],
  'Once.do': [[(o) => once().do('k', () => 1, o), 'timeout', 'timeoutMs']],
  'Once.unknown': [[(o) => once().unknown(o), 'limits', 'limit']],
  'Once.settle': [[(o) => once().settle('k', 'not-applied', { ...act, ...o }), 'off', 'of']],
  'Pins.load': [
    [
      (o) => Pins.load({ coordinator: memoryCoordinator(), group: 'g', ...o }),
      'shardcount',
      'shardCount',
    ],
  ],
  movePin: [[(o) => movePin(topic(), 'k', 1, o), 'timeout', 'timeoutMs']],
  ShardWorker: [[(o) => new ShardWorker(o), 'drainTimeout', 'drainTimeoutMs']],
  Topic: [[(o) => new Topic(memoryStreams(), o), 'shardcount', 'shardCount']],
  'Topic.publish': [
    [(o) => topic().publish({ key: 'k', id: 'i', payload: 1 }, o), 'timeout', 'timeoutMs'],
  ],
  'Topic.publishMany': [[(o) => topic().publishMany([], o), 'timeout', 'timeoutMs']],
  StreamWorker: [
    [(o) => new StreamWorker(o), 'prefetchcount', 'prefetchCount'],
    [
      (o) =>
        new StreamWorker({
          ...{ topic: topic(), leases: leases(), group: 'g', handler: async () => {} },
          retry: { firstMs: 1, limitMs: 1, ...o },
        }),
      'limit',
      'limitMs',
    ],
  ],
  memoryCoordinator: [[(o) => memoryCoordinator(undefined, o), 'links', 'link']],
  memoryJobs: [[(o) => memoryJobs(undefined, o), 'links', 'link']],
  memoryOnce: [[(o) => memoryOnce(undefined, o), 'links', 'link']],
  memoryStreams: [[(o) => memoryStreams(undefined, o), 'links', 'link']],
  MemoryKeys: [[(o) => new MemoryKeys(o), 'runtme', 'runtime']],
  MemoryStore: [[(o) => new MemoryStore(o), 'runtme', 'runtime']],
  'MemoryStore.restart': [[(o) => new MemoryStore().restart(o), 'keepdata', 'keepData']],
  MemoryStreams: [[(o) => new MemoryStreams(o), 'dedupeWindow', 'dedupeWindowMs']],
  'MemoryStreams.restart': [[(o) => new MemoryStreams().restart(o), 'keepdata', 'keepData']],
  'FaultLink.disturb': [[(o) => new FaultLink().disturb('request', 'drop', o), 'conut', 'count']],
  redisCoordinator: [[(o) => redisCoordinator(redisUrl, o), 'replica', 'replicas']],
  redisQuorumCoordinator: [
    [
      (o) => redisQuorumCoordinator(`${redisUrl},127.0.0.1:2,127.0.0.1:3`, o),
      'largestTtl',
      'largestTtlMs',
    ],
  ],
  redisFence: [
    [(o) => redisFence(redisUrl, o), 'hashtag', 'hashTag'],
    [(o) => redisFence(redisUrl, { leases: o }), 'namespce', 'namespace'],
  ],
  redisJobs: [[(o) => redisJobs(redisUrl, o), 'namespce', 'namespace']],
  redisStreams: [
    [(o) => redisStreams(redisUrl, { topic: 't', ...o }), 'dedupeWindow', 'dedupeWindowMs'],
  ],
  redisOnce: [[(o) => redisOnce(redisUrl, o), 'replica', 'replicas']],
  postgresCoordinator: [[(o) => postgresCoordinator(postgresUrl, o), 'Schema', 'schema']],
  migratePostgres: [[(o) => migratePostgres(postgresUrl, o), 'timeout', 'timeoutMs']],
  postgresFence: [
    [(o) => postgresFence(postgresUrl, o), 'lease', 'leases'],
    [(o) => postgresFence(postgresUrl, { leases: o }), 'shema', 'schema'],
  ],
  postgresRowGuard: [[(o) => postgresRowGuard({ table: 't', key: 'id', ...o }), 'tabel', 'table']],
  postgresOnce: [[(o) => postgresOnce(postgresUrl, o), 'shema', 'schema']],
  postgresJobs: [[(o) => postgresJobs(postgresUrl, o), 'shema', 'schema']],
  mysqlFence: [[(o) => mysqlFence('mysql://h/d', o), 'databse', 'database']],
  sqliteCoordinator: [[(o) => sqliteCoordinator('x.db', o), 'namespce', 'namespace']],
  sqliteFence: [[(o) => sqliteFence('x.db', o), 'waitTimeout', 'waitTimeoutMs']],
  sqliteOnce: [[(o) => sqliteOnce('x.db', o), 'namespce', 'namespace']],
  sqliteJobs: [[(o) => sqliteJobs('x.db', o), 'namespce', 'namespace']],
  etcdCoordinator: [
    [(o) => etcdCoordinator('etcd://h', o), 'prefx', 'prefix'],
    [(o) => etcdCoordinator('etcd://h', { tls: o }), 'servername', 'serverName'],
  ],
  etcdFence: [
    [(o) => etcdFence('etcd://h', o), 'timeout', 'timeoutMs'],
    [(o) => etcdFence('etcd://h', { tls: o }), 'cart', 'cert'],
    [(o) => etcdFence('etcd://h', { leases: o }), 'prefx', 'prefix'],
  ],
  zookeeperCoordinator: [
    [(o) => zookeeperCoordinator('zookeeper://h', o), 'namespaces', 'namespace'],
  ],
  nodeFence: [[(o) => nodeFence(http(o), () => {}), 'retryAfter', 'retryAfterMs']],
  expressFence: [[(o) => expressFence(http(o)), 'retryAfter', 'retryAfterMs']],
  fastifyFence: [[(o) => fastifyFence(http(o)), 'retryAfter', 'retryAfterMs']],
  honoFence: [[(o) => honoFence(http(o)), 'retryAfter', 'retryAfterMs']],
  schedule: [[(o) => schedule(memoryJobs(), o), 'naem', 'name']],
  Schedule: [
    [(o) => new Schedule(memoryJobs(), o), 'spred', 'spread'],
    [(o) => new Schedule(memoryJobs(), { election: o }), 'drain', 'drainMs'],
  ],
  'Schedule.job': [
    [
      (o) => schedule(memoryJobs()).job('a', { cron: '@daily', ...o }, () => 1),
      'timezone',
      'timeZone',
    ],
    [
      (o) =>
        schedule(memoryJobs()).job('a', { cron: '@daily', retry: { limit: 1, ...o } }, () => 1),
      'firstPause',
      'firstPauseMs',
    ],
  ],
  Jobs: [[(o) => new Jobs(memoryJobs(), o), 'timeout', 'timeoutMs']],
  'Jobs.history': [[(o) => jobs().history('a', o), 'limits', 'limit']],
  'Jobs.runNow': [[(o) => jobs().runNow('a', { ...act, ...o }), 'reasn', 'reason']],
  'Jobs.pause': [[(o) => jobs().pause('a', { ...act, ...o }), 'reasn', 'reason']],
  'Jobs.cancel': [[(o) => jobs().cancel('a', 'a@1', { ...act, ...o }), 'reasn', 'reason']],
  nodeCronCoordinator: [[(o) => nodeCronCoordinator(memoryJobs(), o), 'keepRun', 'keepRuns']],
  'TenureModule.forRoot': [
    [(o) => TenureModule.forRoot({ store: memoryJobs(), ...o }), 'spred', 'spread'],
  ],
  'TenureModule.forRootAsync': [
    [(o) => TenureModule.forRootAsync({ useFactory: () => o, ...o }), 'injects', 'inject'],
  ],
  SingletonCron: [[(o) => SingletonCron('@daily', o), 'timezone', 'timeZone']],
  prometheusMetrics: [
    [(o) => prometheusMetrics(o), 'nameLimits', 'nameLimit'],
    [(o) => prometheusMetrics(o), 'registr', 'register'],
  ],
  otelMetrics: [
    [(o) => otelMetrics(o), 'askStore', 'asksStore'],
    [(o) => otelMetrics(o), 'metre', 'meter'],
    [(o) => otelMetrics().observe(leases(), o), 'naem', 'name'],
  ],
  otelSpans: [[(o) => otelSpans(o), 'trace', 'tracer']],
  VirtualRuntime: [[(o) => new VirtualRuntime(o), 'sead', 'seed']],
  TestFleet: [[(o) => new TestFleet(o), 'sead', 'seed']],
  TestProcess: [
    [
      (o) => new TestProcess('p', { runtime, connect: () => memoryCoordinator(), ...o }),
      'runtme',
      'runtime',
    ],
  ],
  FaultyCoordinator: [[(o) => new FaultyCoordinator(undefined, o), 'runtme', 'runtime']],
  'FaultyCoordinator.loseReply': [[(o) => new FaultyCoordinator().loseReply(o), 'conut', 'count']],
  'FaultyCoordinator.flushLater': [
    [(o) => new FaultyCoordinator().flushLater(o), 'operaton', 'operation'],
  ],
  'FaultyCoordinator.duplicate': [[(o) => new FaultyCoordinator().duplicate(o), 'conut', 'count']],
  planOf: [[(o) => planOf(1, o), 'modle', 'model']],
  run: [
    [(o) => run(planOf(1), o), 'online', 'onLine'],
    [(o) => run(planOf(1), { plant: { name: 'a bug', ...o } }), 'serverfence', 'serverFence'],
  ],
  runMany: [[(o) => runMany(1, 1, o), 'faultsFor', 'faultsForMs']],
  explain: [[(o) => explain(failed, o), 'plnat', 'plant']],
  shrink: [[(o) => shrink(failed, o), 'plnat', 'plant']],
  'SimHost.leases': [[(o) => simulated().leases(o), 'ttl', 'ttlMs']],
};
