import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import {
  memoryCoordinator,
  memoryFence,
  memoryJobs,
  memoryOnce,
  memoryStreams,
} from '../../src/memory.js';
import {
  postgresCoordinator,
  postgresFence,
  postgresJobs,
  postgresOnce,
} from '../../src/postgres.js';
import {
  redisCoordinator,
  redisFence,
  redisJobs,
  redisOnce,
  redisStreams,
} from '../../src/redis.js';
import { sqliteCoordinator, sqliteFence, sqliteJobs, sqliteOnce } from '../../src/sqlite.js';
import type { StreamStore } from '../../src/streams/index.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { hostileTexts } from './hostile.js';
import {
  hostileNames,
  useHostileAtFence,
  useHostileJobs,
  useHostileKeys,
  useHostileNames,
} from './hostile-use.js';

let database: FreshDatabase;
const folder = mkdtempSync(join(tmpdir(), 'tenure-fuzz-'));
/** Hostile as well: a schema that is a word of SQL, and a namespace of everything that means something somewhere. */
const schema = 'select';
const namespace = `*{}[]'"\\%?$;-- é ${process.pid}`;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

/** However busy the machine is. */
const { timeoutMs } = call;
const connectTimeoutMs = timeoutMs;
const redis = () => inject('redisUrl');
const path = (kind: string) => join(folder, `${kind}.db`);

interface Closable {
  close(): Promise<unknown> | unknown;
}

async function using<Store extends Closable>(
  store: Store,
  use: (store: Store) => Promise<void>,
): Promise<void> {
  try {
    if ('migrate' in store) await (store as unknown as { migrate(): Promise<unknown> }).migrate();
    await use(store);
  } finally {
    await store.close();
  }
}

const ways: Readonly<Record<string, () => Promise<void>>> = {
  'leases in memory': () => using(memoryCoordinator(), useHostileNames),
  'leases in a file': () =>
    using(sqliteCoordinator(path('leases'), { namespace }), useHostileNames),
  'leases in Redis': () =>
    using(redisCoordinator(redis(), { namespace, connectTimeoutMs }), useHostileNames),
  'leases in PostgreSQL': async () => {
    await using(
      postgresOnce(database.url, { schema, namespace, connectTimeoutMs }),
      async () => {},
    );
    await using(
      postgresCoordinator(database.url, { schema, namespace, connectTimeoutMs }),
      useHostileNames,
    );
  },
  'keys in memory': () => using(memoryOnce(), useHostileKeys),
  'keys in a file': () => using(sqliteOnce(path('keys'), { namespace }), useHostileKeys),
  'keys in Redis': () => using(redisOnce(redis(), { namespace, connectTimeoutMs }), useHostileKeys),
  'keys in PostgreSQL': () =>
    using(postgresOnce(database.url, { schema, namespace, connectTimeoutMs }), useHostileKeys),
  'jobs in memory': () => using(memoryJobs(), useHostileJobs),
  'jobs in a file': () => using(sqliteJobs(path('jobs'), { namespace }), useHostileJobs),
  'jobs in Redis': () => using(redisJobs(redis(), { namespace }), useHostileJobs),
  'jobs in PostgreSQL': () =>
    using(postgresJobs(database.url, { schema, namespace }), useHostileJobs),
  'a fence in memory': () => using(memoryFence(), useHostileAtFence),
  'a fence in a file': () => using(sqliteFence(path('fence')), useHostileAtFence),
  'a fence in Redis': () =>
    using(redisFence(redis(), { namespace, connectTimeoutMs, timeoutMs }), useHostileAtFence),
  'a fence in PostgreSQL': () =>
    using(postgresFence(database.url, { schema: 'where', timeoutMs }), useHostileAtFence),
  'streams in memory': () => using(memoryStreams(), useHostileStreams),
  'streams in Redis': () =>
    using(
      redisStreams(redis(), { namespace, topic: namespace, connectTimeoutMs }),
      useHostileStreams,
    ),
};

const texts = hostileTexts.filter(
  (text) => text !== '' && !/[\0\p{Cs}]/u.test(text) && text.length < 256,
);

/** Keys and ids of messages: each key counts from 1, each id is remembered for its own key, and both are read as they were. */
async function useHostileStreams(store: StreamStore): Promise<void> {
  const token = { name: 'shards/0', term: 1, holder: Holder.create('ann', realRuntime) };
  await store.install([{ shard: 0, token }], call);
  const messages = texts.map((key) => ({ shard: 0, key, id: shorter(key), payload: '1' }));
  const others = messages.map((one, at) => ({
    ...one,
    key: 'ids',
    id: `${at} ${one.id}`.slice(0, 80),
  }));
  for (const outcome of ['appended', 'duplicate'])
    expect(await store.publish(messages, call)).toEqual(messages.map(() => ({ outcome, seq: 1 })));
  await store.publish(others, call);
  const request = { shard: 0, token, acknowledge: [], after: undefined, limit: 1_000 };
  const [read] = await store.step([request], call);
  const found = read?.outcome === 'ok' ? read.messages.map(({ key, id }) => [key, id]) : [];
  expect(found).toEqual([...messages, ...others].map(({ key, id }) => [key, id]));
}

const shorter = (text: string) => [...text].slice(0, 60).join('');

describe('hostile names that are taken work as they are, none as another', () => {
  it.each(Object.entries(ways))('of %s', async (_, use) => {
    await use();
  });

  it('of which there are many', () => {
    expect(hostileNames.length).toBeGreaterThan(70);
    expect(texts.length).toBeGreaterThan(90);
  });
});
