import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EtcdKeys } from '../../src/coordinators/etcd/keys.js';
import { Holder, validateName } from '../../src/coordinators/index.js';
import { channelOf } from '../../src/coordinators/postgres/channel.js';
import { RedisKeys } from '../../src/coordinators/redis/keys.js';
import { QuorumKeys } from '../../src/coordinators/redis-quorum/keys.js';
import { ZooKeeperPaths } from '../../src/coordinators/zookeeper/paths.js';
import { slotOf } from '../../src/drivers/redis/index.js';
import { etcdCoordinator, etcdFence } from '../../src/etcd.js';
import { FenceKeys as EtcdFenceKeys } from '../../src/fences/etcd/keys.js';
import { memoryFence } from '../../src/fences/memory/index.js';
import { FenceKeys as RedisFenceKeys } from '../../src/fences/redis/keys.js';
import { Elections, Leases, Once, Pins, ShardWorker, shardOf } from '../../src/index.js';
import { memoryCoordinator, memoryJobs, memoryOnce, memoryStreams } from '../../src/memory.js';
import { mysqlFence, migrationSql as mysqlMigrationSql } from '../../src/mysql.js';
import { OnceKeys } from '../../src/once/redis/keys.js';
import {
  migrationSql,
  postgresCoordinator,
  postgresFence,
  postgresJobs,
  postgresOnce,
  postgresRowGuard,
  postgresSchemaSql,
} from '../../src/postgres.js';
import {
  redisCoordinator,
  redisFence,
  redisJobs,
  redisOnce,
  redisQuorumCoordinator,
  redisStreams,
} from '../../src/redis.js';
import { Schedule } from '../../src/schedule/index.js';
import { RedisJobKeys } from '../../src/schedule/redis/keys.js';
import { sqliteCoordinator, sqliteJobs, sqliteOnce } from '../../src/sqlite.js';
import { StreamKeys } from '../../src/streams/redis/keys.js';
import { realRuntime } from '../../src/time/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { call } from '../support/call.js';
import { collisions, type Give, hostileTexts, taken } from './hostile.js';
import { rounds } from './rounds.js';

const redis = 'redis://127.0.0.1:1';
const postgres = 'postgres://127.0.0.1:1/a';
const etcd = 'etcd://127.0.0.1:1';
const file = '/nowhere/at/all.db';
const nodes = [1, 2, 3].map((port) => `redis://127.0.0.1:${port}`);
const holder = Holder.create('ann', realRuntime);

/** Of what is opened nothing is connected before it is used. */
const opening =
  (open: (text: string) => { close(): unknown }): Give =>
  async (text) =>
    await open(text).close();

const namespaces: Readonly<Record<string, Give>> = {
  'a coordinator on Redis': opening((namespace) => redisCoordinator(redis, { namespace })),
  'a quorum of Redis': opening((namespace) => redisQuorumCoordinator(nodes, { namespace })),
  'a coordinator on PostgreSQL': opening((namespace) =>
    postgresCoordinator(postgres, { namespace }),
  ),
  'a coordinator in a file': opening((namespace) => sqliteCoordinator(file, { namespace })),
  'a coordinator on etcd': opening((namespace) => etcdCoordinator(etcd, { namespace })),
  'a coordinator on ZooKeeper': opening((namespace) =>
    zookeeperCoordinator('zookeeper://127.0.0.1:1', { namespace }),
  ),
  'a fence in Redis': opening((namespace) => redisFence(redis, { namespace })),
  'a fence in etcd': opening((namespace) => etcdFence(etcd, { namespace })),
  'streams in Redis': opening((namespace) => redisStreams(redis, { namespace, topic: 'a' })),
  'jobs in Redis': opening((namespace) => redisJobs(redis, { namespace })),
  'jobs in PostgreSQL': opening((namespace) => postgresJobs(postgres, { namespace })),
  'jobs in a file': opening((namespace) => sqliteJobs(file, { namespace })),
  'keys in Redis': opening((namespace) => redisOnce(redis, { namespace })),
  'keys in PostgreSQL': opening((namespace) => postgresOnce(postgres, { namespace })),
  'keys in a file': opening((namespace) => sqliteOnce(file, { namespace })),
};

const sqlNames: Readonly<Record<string, readonly [option: string, give: Give]>> = {
  'the schema of leases': [
    'schema',
    opening((schema) => postgresCoordinator(postgres, { schema })),
  ],
  'the SQL of a schema': ['schema', postgresSchemaSql],
  'the schema of a fence': ['schema', opening((schema) => postgresFence(postgres, { schema }))],
  'the SQL of a fence': ['schema', migrationSql],
  'the schema of keys': ['schema', opening((schema) => postgresOnce(postgres, { schema }))],
  'the schema of jobs': ['schema', opening((schema) => postgresJobs(postgres, { schema }))],
  'the database of a fence': [
    'database',
    opening((database) => mysqlFence('mysql://127.0.0.1:1/a', { database })),
  ],
  'the SQL of a database': ['database', mysqlMigrationSql],
  'the table of a row guard': ['table', (table) => postgresRowGuard({ table, key: 'id' })],
  'the key of a row guard': ['key', (key) => postgresRowGuard({ table: 'a', key })],
};

/** Names in the sense of `validateName`. */
function names(): Readonly<Record<string, readonly [option: string, give: Give]>> {
  const coordinator = memoryCoordinator();
  const leases = new Leases(coordinator, { id: 'ann' });
  const elections = new Elections(leases);
  const fence = memoryFence();
  const work = { begin: async () => {}, drain: async () => {}, drop: () => {} };
  const token = (name: string) => ({ name, term: 1, holder });
  return {
    'a lease': ['name', (name) => coordinator.read([name], call)],
    'an election': ['name', (name) => elections.election(name)],
    'a document': ['name', (name) => coordinator.readDocument(name, call)],
    'a topic in Redis': ['topic', opening((topic) => redisStreams(redis, { topic }))],
    'a fenced resource': ['token.name', (name) => fence.claim(token(name))],
    'the scope of an effect': [
      'scope',
      (scope) => fence.transaction(token('a'), (on) => fence.recordOnce(on, scope, 'key', 1, 'id')),
    ],
    'the leases of a fence': [
      'leases.namespace',
      opening((namespace) => redisFence(redis, { leases: { namespace } })),
    ],
    'a table of pins': ['group', (group) => Pins.load({ coordinator, group })],
    'a group of workers': ['group', (group) => new ShardWorker({ leases, group, work })],
  };
}

describe('a hostile name', () => {
  const refusedNames = [
    '',
    '\0',
    'a\nb',
    '\ud800',
    '/',
    'a//b',
    '..',
    'a/../b',
    'x'.repeat(1 << 20),
  ];
  const takenNames = [
    '{}',
    '{a}',
    '*',
    '[a-z]',
    '__proto__',
    'constructor',
    ' a',
    'a ',
    '%2F',
    "'",
  ];

  it.each(Object.entries(namespaces))('of a namespace is refused or taken: %s', async (_, give) => {
    const accepted = await taken('namespace', give);
    expect(accepted).toEqual(expect.arrayContaining(takenNames));
    expect(accepted.filter((text) => refusedNames.includes(text))).toEqual([]);
  });

  it.each(Object.entries(names()))('is refused or taken: %s', async (_, [option, give]) => {
    const accepted = await taken(option, give);
    const isShort = (text: string) => Buffer.byteLength(text) < 100;
    expect(accepted).toEqual(expect.arrayContaining(takenNames.filter(isShort)));
    expect(accepted.filter((text) => refusedNames.includes(text))).toEqual([]);
  });

  it.each(Object.entries(sqlNames))(
    'stands in no SQL unless it is one word: %s',
    async (_, [option, give]) => {
      const accepted = await taken(option, give);
      expect(accepted).toEqual(expect.arrayContaining(['a', '__proto__', 'lease']));
      const word = '[A-Za-z_][A-Za-z0-9_]{0,63}';
      const fits = new RegExp(option === 'table' ? `^${word}(?:\\.${word})?$` : `^${word}$`);
      expect(accepted.filter((text) => !fits.test(text))).toEqual([]);
    },
  );

  it('of a schema is none in a URL, either', () => {
    for (const text of hostileTexts.filter((one) => one.isWellFormed() && one.length < 1_000)) {
      const open = () => postgresCoordinator(`${postgres}?schema=${encodeURIComponent(text)}`);
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(text)) expect(open, text).toThrow(/schema/);
    }
  });

  it('of a holder or member is a short word', async () => {
    const coordinator = memoryCoordinator();
    for (const give of [
      (id: string) => new Leases(coordinator, { id }),
      (id: string) => Holder.create(id, realRuntime),
      (id: string) => new Once(memoryOnce(), { id }),
      (id: string) => new Schedule(memoryJobs(), { id }),
    ]) {
      const accepted = await taken('id', give);
      expect(accepted).toContain('constructor');
      expect(accepted.filter((text) => !/^[A-Za-z0-9][\w.@-]{0,127}$/.test(text))).toEqual([]);
    }
  });

  it('of a key, an id or a job has its own length, and no NUL', async () => {
    const fence = memoryFence();
    const once = new Once(memoryOnce());
    const store = memoryStreams();
    let seq = 1;
    const record = (key: string, id: string) =>
      fence.transaction({ name: 'a', term: 1, holder }, async (on) => {
        await fence.recordOnce(on, 'scope', key, seq++, id);
      });
    const publish = (parts: object) =>
      store.publish([{ shard: 0, key: 'a', id: 'a', payload: '1', ...parts }], call);
    const gives: readonly (readonly [option: string, give: Give, longest: number])[] = [
      ['key', (key) => shardOf(key), 512],
      ['key', (key) => publish({ key }), 512],
      ['id', (id) => publish({ id }), 255],
      ['key', (key) => record(key, 'id'), 1_024],
      ['id', (id) => record('key', id), 255],
      ['key', (key) => once.do(key, () => 1), 255],
      ['job', (job) => new Schedule(memoryJobs()).job(job, { cron: '* * * * *' }, () => {}), 100],
    ];
    for (const [option, give, longest] of gives) {
      const accepted = await taken(option, give);
      const isBeyond = (text: string) =>
        Buffer.byteLength(text) > longest || /[\0\p{Cs}]/u.test(text);
      expect(accepted.filter(isBeyond), option).toEqual([]);
      expect(accepted, option).toEqual(expect.arrayContaining(takenNames));
    }
  });

  it('before all keys is a slash and any text without a colon that UTF-8 can hold, or what a hash tag can', async () => {
    for (const open of [etcdCoordinator, etcdFence]) {
      const isText = (text: string) => text.isWellFormed() && Buffer.byteLength(text) < 1_024;
      const isPrefix = (text: string) => isText(text) && !text.includes(':');
      const behind = await taken(
        'prefix',
        opening((text) => open(etcd, { prefix: typeof text === 'string' ? `/${text}` : text })),
      );
      expect(behind.map(shortly)).toEqual(hostileTexts.filter(isPrefix).map(shortly));
      const alone = await taken(
        'prefix',
        opening((prefix) => open(etcd, { prefix })),
      );
      expect(alone.filter((text) => text !== '' && !text.startsWith('/'))).toEqual([]);
    }
    const tags = await taken(
      'hashTag',
      opening((hashTag) => redisFence(redis, { hashTag })),
    );
    expect(tags.filter((tag) => /[{}\s\p{Cc}\p{Cs}]/u.test(tag) || tag === '')).toEqual([]);
    expect(tags).toContain('a:b');
  });
});

const shortly = (text: string) => `${text.slice(0, 40)} ${text.length}`;
const valid = hostileTexts.filter((text) => isName(text) && text.length <= 255);
const anyKey = hostileTexts.filter(
  (text) => text !== '' && !/[\0\p{Cs}]/u.test(text) && text.length < 300,
);

function isName(text: string): boolean {
  try {
    validateName(text);
    return true;
  } catch {
    return false;
  }
}

/** Every key that something of two names has in a store, with what it is of. */
type Keys = (space: string, name: string, key: string) => Iterable<readonly [string, string]>;

const of = (what: string, ...parts: unknown[]) => `${what} ${JSON.stringify(parts)}`;

const redisKeys: Keys = function* (space, name, key) {
  const keys = new QuorumKeys(space);
  const place = keys.place(name);
  for (const part of [
    'term',
    'suspended',
    'marker',
    'identity',
    'seeding',
    'quarantine',
    'resumed',
    'calls',
  ] as const)
    yield [of(part, space), keys[part]];
  for (const part of ['lease', 'history', 'queue', 'candidates'] as const)
    yield [of(part, space, name), place[part]];
  yield [of('group', space, name), keys.group(name)];
  yield [of('document', space, name), keys.document(name)];
  yield [of('wake', space, name), keys.wake(name)];
  expect(new RedisKeys(space).place(name).lease).toBe(place.lease);
  const streams = new StreamKeys(space, name);
  yield [of('bell', space, name), streams.bell];
  yield [of('topic', space, name), streams.topic];
  for (const shard of [0, 12]) {
    const { log, owner, keys: states, id } = streams.shard(shard);
    yield [of('log', space, name, shard), log];
    yield [of('owner', space, name, shard), owner];
    yield [of('keys', space, name, shard), states];
    yield [of('id', space, name, shard, key, 'x'), id(key, 'x')];
    yield [of('id', space, name, shard, 'x', key), id('x', key)];
  }
  const jobs = new RedisJobKeys(space);
  yield [of('jobs', space), jobs.names];
  for (const [part, at] of Object.entries(jobs.job(name)))
    if (part !== 'job') yield [of(part, space, name), at];
  const once = new OnceKeys(space);
  yield [of('open', space), once.open];
  yield [of('once', space, key), once.record(key)];
  for (const tag of ['tenure:default', 'tenure-fence:default']) {
    const fence = new RedisFenceKeys(tag, space);
    yield [of('term', tag, space, name), fence.term(name)];
    yield [of('effect', tag, space, name, key), fence.effect({ scope: name, key, seq: 1 })];
    yield [of('effect', tag, space, 'x', key), fence.effect({ scope: 'x', key, seq: 1 })];
  }
};

const etcdKeys: Keys = function* (space, name, key) {
  const keys = new EtcdKeys('', space);
  yield [of('queue', space, name), keys.queue(name).key];
  for (const part of ['held', 'after', 'suspended', 'history', 'document'] as const)
    yield [of(part, space, name), keys.part(part, name)];
  yield [of('candidates', space, name), keys.candidates(name).key];
  yield [of('candidate', space, name), keys.candidate(name, holder)];
  yield [of('waiting', space, name), keys.waiting(name).key];
  yield [of('waiter', space, name), keys.waiter(name, 50, 7, holder.digest)];
  yield [of('session', space), keys.session('77')];
  yield [of('space', space), keys.space];
  const fence = new EtcdFenceKeys('', space);
  yield [of('term', space, name), fence.term(name)];
  yield [of('effect', space, name, key), fence.effect({ scope: name, key, seq: 1, id: 'a' })];
};

const zookeeperKeys: Keys = function* (space, name) {
  const paths = new ZooKeeperPaths('', space);
  for (const part of ['root', 'names', 'sessions', 'bells', 'documents', 'granted'] as const)
    yield [of(part, space), paths[part]];
  yield [of('group', space, name), paths.group(name)];
  yield [of('root group', space), paths.group('')];
  yield [of('name', space, name), paths.name(name)];
  yield [of('document', space, name), paths.document(name)];
  yield [of('bell', space, name), paths.bell(name)];
  yield [of('root bell', space), paths.bell('')];
};

const postgresKeys: Keys = function* (space) {
  for (const schema of ['tenure', 'a'])
    yield [of('channel', schema, space), channelOf(schema, space)];
};

const stores = {
  Redis: redisKeys,
  etcd: etcdKeys,
  ZooKeeper: zookeeperKeys,
  PostgreSQL: postgresKeys,
};
const name = fc.oneof(
  fc.constantFrom(...valid),
  fc.string({ unit: 'binary', maxLength: 12 }).filter(isName),
);
const key = fc.oneof(
  fc.constantFrom(...anyKey),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((text) => !/[\0\p{Cs}]/u.test(text)),
);

describe('different names', () => {
  it.each(Object.entries(stores))('have no key in common in %s', (_, keysOf) => {
    const spaces = ['default', 'a', '{a}', 'a/b', '%2F', '*', 'names', '__proto__'];
    const all = [...spaces, ...valid].flatMap((space) => [
      ...keysOf(space, 'a', 'a'),
      ...(spaces.includes(space) ? valid : []).flatMap((one) => [...keysOf(space, one, 'a')]),
    ]);
    const withKeys = anyKey.flatMap((one) => [...keysOf('default', 'a', one)]);
    expect(collisions([...all, ...withKeys])).toEqual([]);
    const pair = fc.tuple(name, name, key);
    fc.assert(
      fc.property(pair, pair, (one, other) => {
        expect(collisions([...keysOf(...one), ...keysOf(...other)])).toEqual([]);
      }),
      { seed: 11, numRuns: rounds(100, 20_000) },
    );
  });

  it('stand in keys of Redis behind the hash tag, which they cannot move, and in none that a pattern means', () => {
    for (const one of valid) {
      const found = [...redisKeys('default', one, 'a')].map(([, at]) => at);
      for (const at of found) expect(at).toMatch(/^\{[\w.%:-]+\}[\w.%:-]*$/);
      const leases = found.filter((at) => at.startsWith('{tenure:default}'));
      expect(new Set(leases.map(slotOf)).size).toBe(1);
    }
  });

  it('stand in nodes of ZooKeeper that it takes, none of them above their own', () => {
    for (const one of valid)
      for (const [, path] of zookeeperKeys(one, one, '')) {
        expect(path).toMatch(/^(\/[\w.%-]+)+$/);
        expect(path.split('/')).not.toEqual(expect.arrayContaining(['..']));
      }
  });
});
