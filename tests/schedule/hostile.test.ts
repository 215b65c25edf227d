import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { RecordCorruptError } from '../../src/errors/index.js';
import { postgresJobs } from '../../src/postgres.js';
import { redisJobs } from '../../src/redis.js';
import {
  act,
  call,
  claimed,
  definition,
  ended,
  job,
  runAt,
  tokenOf,
  write,
} from '../../src/schedule/conformance/scene.js';
import { type JobStore, Jobs, Schedule } from '../../src/schedule/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { openDatabase } from '../support/sqlite-database.js';
import { sqliteSubject } from './sqlite-target.js';

/** Where a text stands, of a job with an open run, an ended one, a request, a cancellation and a pause. */
type Place = 'record' | 'pause' | 'open' | 'latest' | 'cancellation' | 'request';

interface Subject {
  readonly store: JobStore;
  /** Puts there what `altered` makes of what stands there. */
  alter(place: Place, altered: (text: string) => string): Promise<void>;
  close(): Promise<void>;
}

const requestId = 'settle!1';
const open = runAt(tokenOf(1), 5);
const latest = runAt(tokenOf(1), 10);
const sqlOf = (table: (name: string) => string) => ({
  record: [table('job'), 'record', `job = '${job}'`],
  pause: [table('job'), 'pause', `job = '${job}'`],
  open: [table('run'), 'record', `job = '${job}' AND id = '${open.id}'`],
  latest: [table('run'), 'record', `job = '${job}' AND id = '${latest.id}'`],
  cancellation: [table('run'), 'cancellation', `job = '${job}' AND id = '${open.id}'`],
  request: [table('run_request'), 'record', `job = '${job}'`],
});

async function onSqlite(): Promise<Subject> {
  const { store, path, close } = await sqliteSubject();
  return {
    ...{ store, close },
    alter: async (place, altered) => {
      const [table, column, where] = sqlOf((name) => name)[place];
      const database = openDatabase(path);
      const row = database.prepare(`SELECT ${column} AS text FROM ${table} WHERE ${where}`).get();
      const text = altered((row as { text: string }).text);
      database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(text);
      database.close();
    },
  };
}

let database: FreshDatabase;
let pool: Pool;
let admin: Redis;
let count = 0;
beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  pool = new Pool({ connectionString: database.url, max: 1 });
  const store = postgresJobs(database.url);
  await store.migrate();
  await store.close();
  admin = new Redis(inject('redisUrl'));
});
afterAll(async () => {
  admin.disconnect();
  await pool.end();
  await database.drop();
});

async function onPostgres(): Promise<Subject> {
  count += 1;
  const namespace = `hostile-${count}`;
  const store = postgresJobs(database.url, { namespace });
  return {
    store,
    alter: async (place, altered) => {
      const tables = sqlOf((name) => `tenure.${name}s`);
      const [table, column, where] = tables[place];
      const row = `${where} AND namespace = '${namespace}'`;
      const { rows } = await pool.query(`SELECT ${column} AS text FROM ${table} WHERE ${row}`);
      const text = altered(rows[0].text);
      await pool.query(`UPDATE ${table} SET ${column} = $1 WHERE ${row}`, [text]);
    },
    close: () => store.close(),
  };
}

async function onRedis(): Promise<Subject> {
  count += 1;
  const namespace = `hostile-${process.pid}-${count}`;
  const store = redisJobs(inject('redisUrl'), { namespace });
  const key = (kind: string) => `{tenure:${namespace}}:${kind}:${job}`;
  const hashed = {
    record: [key('job'), 'record'],
    pause: [key('job'), 'pause'],
    open: [key('job-runs'), open.id],
    latest: [key('job-runs'), latest.id],
    cancellation: [key('job-cancels'), open.id],
  } as const;
  return {
    store,
    alter: async (place, altered) => {
      if (place === 'request') {
        const text = (await admin.lindex(key('job-requests'), 0)) as string;
        await admin.lset(key('job-requests'), 0, altered(text));
        return;
      }
      const [at, field] = hashed[place];
      await admin.hset(at, field, altered((await admin.hget(at, field)) as string));
    },
    close: () => store.close(),
  };
}

/** Values that are of the right type, or none that this package writes. What fields may hold is in `texts.test.ts`. */
const edits: readonly (readonly [Place, object | string])[] = [
  ['record', { consideredToMs: 8.64e15 }],
  ['record', { consideredToMs: null }],
  ['record', { term: 8.64e15 }],
  ['record', { election: '' }],
  ['record', { job: 'other' }],
  ['pause', { atMs: -1 }],
  ['open', { attempt: 2_147_483_647 }],
  ['open', { state: 'succeeded' }],
  ['open', { id: 'other@x' }],
  ['open', { tickMs: 8.64e15 }],
  ['open', { progress: '{nojson' }],
  ['latest', { state: 'flying' }],
  ['latest', '[]'],
  ['cancellation', { by: 5 }],
  ['request', { atMs: 1e300 }],
  ['request', { job: 'other' }],
];

const named = edits.map(([place, value]) => ({ place, value, says: JSON.stringify(value) }));
const altering = (value: object | string) => (text: string) =>
  typeof value === 'string' ? value : JSON.stringify({ ...JSON.parse(text), ...value });

describe.each([
  ['PostgreSQL', onPostgres],
  ['SQLite', onSqlite],
  ['Redis', onRedis],
])('a hostile value in %s', (_, create) => {
  it.concurrent.each(named)(
    'keeps nobody from other jobs, is told of, left as it is, and can be forgotten: $place $says',
    async ({ place, value }) => {
      const { store, alter, close } = await create();
      const other = { ...definition, job: 'another' };
      try {
        const token = tokenOf(1);
        await claimed(store, token);
        await claimed(store, token, { definition: other });
        await write(store, token, { begin: open });
        await write(store, token, { runs: [ended(latest)] });
        await store.request({ id: requestId, job, ...act }, call);
        await store.cancel(job, open.id, act, call);
        await store.pause(job, act, call);
        let left = '';
        await alter(place, (text) => {
          left = altering(value)(text);
          return left;
        });
        for (const view of [await store.look([job, other.job], call), await store.jobs(call)]) {
          expect(view.corrupt).toEqual([{ job, error: expect.any(RecordCorruptError) }]);
          expect(view.jobs.map(({ record }) => record.job)).toEqual([other.job]);
        }
        const claims = await store.claim(tokenOf(2), [definition, other], undefined, call);
        expect(claims.map(({ outcome }) => outcome)).toEqual(['corrupt', 'claimed']);
        const jobs = new Jobs(store);
        const unreadable = { leadership: 'unreadable', problem: expect.any(String) };
        expect(await jobs.list()).toMatchObject([{ job: other.job }, { job, ...unreadable }]);
        await alter(place, (text) => {
          expect(JSON.parse(text)).toEqual(JSON.parse(left));
          return text;
        });
        await jobs.forget(job);
        await claimed(store, tokenOf(3));
      } finally {
        await close();
      }
    },
  );

  it.concurrent.each(named.filter(({ place }) => place === 'record'))(
    'stops its own job alone, of a leader and of the next one: $says',
    async ({ place, value }) => {
      const { store, alter, close } = await create();
      const token = tokenOf(1, 'made by hand');
      await claimed(store, token);
      await store.forget(job, { election: token.name, term: token.term }, call);
      const led = (id: string) => {
        const schedule = new Schedule(store, { id, pollMs: 50 });
        let ran = () => {};
        const runs = new Promise<void>((resolve) => {
          ran = resolve;
        });
        for (const name of [job, 'another'])
          schedule.job(name, { cron: '* * * * * *' }, () => (name === job ? undefined : ran()));
        const corrupt = new Promise((resolve) => schedule.events.on('jobCorrupt', resolve));
        const failed: unknown[] = [];
        for (const event of ['leadershipFailed', 'startFailed', 'stopped'] as const)
          schedule.events.on(event, ({ error }) => failed.push(error));
        const leading = new Promise((resolve) => schedule.events.on('leading', resolve));
        return { schedule: schedule.start(), runs, corrupt, failed, leading };
      };
      try {
        const first = led('a');
        await first.leading;
        await alter(place, altering(value));
        expect(await first.corrupt).toMatchObject({ job, error: expect.any(RecordCorruptError) });
        await first.runs;
        await first.schedule.close();
        const next = led('b');
        expect(await next.corrupt).toMatchObject({ job, error: expect.any(RecordCorruptError) });
        await next.runs;
        await next.schedule.close();
        expect([...first.failed, ...next.failed]).toEqual([]);
      } finally {
        await close();
      }
    },
  );
});
