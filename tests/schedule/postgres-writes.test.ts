import { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { StoreRefusedError } from '../../src/errors/index.js';
import type { FencingToken } from '../../src/fences/index.js';
import { postgresJobs } from '../../src/postgres.js';
import {
  act,
  call,
  definition,
  ended,
  runAt,
  tokenOf,
} from '../../src/schedule/conformance/scene.js';
import { type JobStore, type RunRecord, Schedule, tickRunId } from '../../src/schedule/index.js';
import { FaultProxy } from '../support/proxy.js';
import { JobsDatabase } from './postgres-database.js';

const database = new JobsDatabase(3);

const jobsOf = (count: number) => Array.from({ length: count }, (_, index) => `job-${index}`);

/** A run of a tick of any job. */
function runOf(token: FencingToken, job: string, minute = 1): RunRecord {
  const run = runAt(token, minute);
  return { ...run, job, id: tickRunId(job, run.tickMs) };
}

async function claimAll(store: JobStore, count: number): Promise<FencingToken> {
  const token = tokenOf(1);
  const definitions = jobsOf(count).map((job) => ({ ...definition, job }));
  await store.claim(token, definitions, undefined, call);
  return token;
}

async function statesOf(store: JobStore): Promise<Record<string, string>> {
  const { jobs } = await store.jobs(call);
  return Object.fromEntries(
    jobs.map(({ record, latest }) => [record.job, latest?.state ?? 'none']),
  );
}

/** A store of one connection, through a proxy that counts what is sent: messages that wait for an answer. */
async function proxied(namespace: string, maxConnections = 1) {
  const there = new URL(database.url);
  const proxy = await FaultProxy.start(Number(there.port), there.hostname);
  const through = new URL(database.url);
  through.host = `127.0.0.1:${proxy.port}`;
  const store = postgresJobs(String(through), { namespace, maxConnections });
  let sentCount = 0;
  const counting = () => {
    sentCount = 0;
    // A simple query; what a client sends in one message may arrive in pieces, of which the first begins so.
    proxy.up.set({
      kind: 'overhear',
      heard: (bytes) => {
        if (bytes[0] === 'Q'.charCodeAt(0) || bytes[0] === 'P'.charCodeAt(0)) sentCount += 1;
      },
    });
  };
  const close = async () => {
    await store.close();
    await proxy.stop();
  };
  return { store, proxy, counting, sent: () => sentCount, close };
}

describe('writes of jobs in PostgreSQL', () => {
  it.each([1, 50])('take two round trips for the begins of %i jobs at once', async (count) => {
    const { store, counting, sent, close } = await proxied(`begins-${count}`);
    const token = await claimAll(store, count);
    counting();
    const begins = jobsOf(count).map((job) =>
      store.write(token, { job, begin: runOf(token, job), keepRuns: 10 }, call),
    );
    const results = await Promise.all(begins);
    expect(sent()).toBe(2);
    expect(results).toEqual(Array(count).fill({ outcome: 'written' }));
    counting();
    await statesOf(store);
    expect(sent()).toBe(1);
    expect(await statesOf(store)).toEqual(
      Object.fromEntries(jobsOf(count).map((job) => [job, 'running'])),
    );
    await close();
  });

  it.each([
    ['a save of progress', { progress: '{"next":7}' }],
    ['an end', { state: 'succeeded', endedAtMs: 1 }],
  ] as const)('take two round trips for %s', async (what, fields) => {
    const { store, counting, sent, close } = await proxied(what);
    const token = await claimAll(store, 1);
    const [job] = jobsOf(1) as [string];
    const run = runOf(token, job);
    await store.write(token, { job, begin: run }, call);
    counting();
    const left = { ...run, ...fields };
    expect(await store.write(token, { job, runs: [left] }, call)).toEqual({ outcome: 'written' });
    expect(sent()).toBe(2);
    expect(await store.runs(job, { limit: 10 }, call)).toEqual([left]);
    await close();
  });

  it('answer each of several jobs for itself: one that is paused, refused, there already, forgotten or cannot be read', async () => {
    const { store, counting, sent, close } = await proxied('mixed');
    const token = await claimAll(store, 6);
    const successor = tokenOf(2);
    const there = runOf(token, 'job-3');
    await store.write(token, { job: 'job-3', begin: there }, call);
    await store.pause('job-1', act, call);
    await store.claim(successor, [{ ...definition, job: 'job-2' }], undefined, call);
    await store.forget('job-4', { election: token.name, term: 1 }, call);
    await database.pool.query(
      `UPDATE tenure.jobs SET record = 'x' WHERE namespace = 'mixed' AND job = 'job-5'`,
    );
    counting();
    const results = await Promise.allSettled(
      jobsOf(6).map((job) => store.write(token, { job, begin: runOf(token, job) }, call)),
    );
    expect(sent()).toBe(2);
    expect(results).toMatchObject([
      { value: { outcome: 'written' } },
      { value: { outcome: 'paused' } },
      { value: { outcome: 'refused', installedTerm: 2 } },
      { value: { outcome: 'exists', run: there } },
      { value: { outcome: 'refused', installedTerm: 0 } },
      { reason: { code: 'TENURE_RECORD_CORRUPT' } },
    ]);
    await close();
  });

  it('of one job at once take effect one after the other', async () => {
    const store = postgresJobs(database.url, { namespace: 'in-order' });
    const token = await claimAll(store, 1);
    const run = runOf(token, 'job-0');
    const request = { id: 'asked', job: 'job-0', ...act };
    const results = await Promise.all([
      store.write(token, { job: 'job-0', begin: run }, call),
      store.cancel('job-0', run.id, act, call),
      store.write(token, { job: 'job-0', runs: [ended(run)], keepRuns: 10 }, call),
      store.cancel('job-0', run.id, act, call),
      store.request(request, call),
      store.cancel('job-0', 'asked', act, call),
      store.pause('job-0', act, call),
      store.resume('job-0', call),
      store.write(token, { job: 'job-0', keepRuns: 0 }, call),
    ]);
    expect(results).toMatchObject([
      ...[{ outcome: 'written' }, 'marked', { outcome: 'written' }, 'none', request, 'withdrawn'],
      ...[act, true, { outcome: 'written' }],
    ]);
    expect(await store.runs('job-0', { limit: 10 }, call)).toEqual([]);
    await store.close();
  });

  it('keeps quotes, backslashes and whatever else a text may hold', async () => {
    const store = postgresJobs(database.url, { namespace: "it's \\ a $1" });
    const token = tokenOf(1, "o'clock\\");
    const job = `'; DROP TABLE tenure.runs; -- \\' "$2" ü😀`;
    await store.claim(token, [{ ...definition, job }], undefined, call);
    const detail = `\\ ' '' "\u0000\u001f \ud800 $$ E'x' ;`;
    const run = { ...runOf(token, job), detail };
    expect(await store.write(token, { job, begin: run }, call)).toEqual({ outcome: 'written' });
    expect((await store.look([job], call)).jobs).toMatchObject([{ open: [run], latest: run }]);
    expect(await store.runs(job, { limit: 1 }, call)).toEqual([run]);
    expect(await store.write(token, { job, begin: run }, call)).toEqual({ outcome: 'exists', run });
    await store.close();
  });

  it('are not held up by somebody who has locked one of the jobs, which alone waits', async () => {
    const store = postgresJobs(database.url, { namespace: 'locked' });
    const token = await claimAll(store, 20);
    const other = await database.pool.connect();
    await other.query('BEGIN');
    await other.query(
      `SELECT FROM tenure.jobs WHERE namespace = 'locked' AND job = 'job-7' FOR UPDATE`,
    );
    const begins = new Map(
      jobsOf(20).map((job) => [job, store.write(token, { job, begin: runOf(token, job) }, call)]),
    );
    const waiting = begins.get('job-7');
    begins.delete('job-7');
    await Promise.all(begins.values());
    expect((await statesOf(store))['job-7']).toBe('none');
    await other.query('COMMIT');
    other.release();
    expect(await waiting).toEqual({ outcome: 'written' });
    await store.close();
  });

  it('that the server refuses for one job are made for the others', async () => {
    await database.pool.query(
      `ALTER TABLE tenure.runs ADD CONSTRAINT not_seven CHECK (namespace <> 'constrained' OR job <> 'job-7')`,
    );
    const store = postgresJobs(database.url, { namespace: 'constrained' });
    const token = await claimAll(store, 20);
    const results = await Promise.allSettled(
      jobsOf(20).map((job) => store.write(token, { job, begin: runOf(token, job) }, call)),
    );
    const refused = results.splice(7, 1);
    expect(refused).toMatchObject([{ reason: expect.any(StoreRefusedError) }]);
    expect(results).toMatchObject(Array(19).fill({ value: { outcome: 'written' } }));
    await database.pool.query('ALTER TABLE tenure.runs DROP CONSTRAINT not_seven');
    await store.close();
  });

  it.each([
    ['BEGIN', 'TENURE_UNREACHABLE', 'before the commit, so nothing was written', 'none'],
    ['; COMMIT', 'TENURE_OUTCOME_UNKNOWN', 'look at the data before trying again', 'none'],
  ])('without an answer to their %s are %s', async (statement, code, words, state) => {
    const { store, proxy, close } = await proxied(`silent-${code}`);
    const token = await claimAll(store, 2);
    const fateOf = (bytes: Buffer) => (bytes.includes(statement) ? 'swallow' : 'none');
    proxy.up.set({ kind: 'judge', fateOf });
    const results = await Promise.allSettled(
      jobsOf(2).map((job) =>
        store.write(token, { job, begin: runOf(token, job) }, { timeoutMs: 2_000 }),
      ),
    );
    proxy.heal();
    const reason = { code, message: expect.stringContaining(words) };
    expect(results).toMatchObject([{ reason }, { reason }]);
    expect(await statesOf(store)).toEqual({ 'job-0': state, 'job-1': state });
    await close();
  });

  it('that get no connection in time are not sent, and leave the connection to others', async () => {
    const own = new Pool({ connectionString: database.url, max: 1 });
    const store = postgresJobs(own, { namespace: 'late' });
    const token = await claimAll(store, 1);
    const other = await own.connect();
    const change = { job: 'job-0', begin: runOf(token, 'job-0') };
    await expect(store.write(token, change, { timeoutMs: 20 })).rejects.toMatchObject({
      ...{ code: 'TENURE_UNREACHABLE' },
      message: 'a write of jobs was not sent: no connection was free in time.',
    });
    other.release();
    expect(await statesOf(store)).toEqual({ 'job-0': 'none' });
    expect(await store.write(token, change, call)).toEqual({ outcome: 'written' });
    await store.close();
    await own.end();
  });

  it.each([
    [
      'a write',
      (store: JobStore, token: FencingToken) => store.write(token, { job: 'job-0' }, call),
    ],
    ['a look', (store: JobStore) => store.look(['job-0'], call)],
  ])(
    'commits nothing of what a client of the pool left open, by %s, and says so',
    async (what, step) => {
      const own = new Pool({ connectionString: database.url, max: 1 });
      const namespace = `left-open-${what}`;
      const store = postgresJobs(own, { namespace });
      const token = await claimAll(store, 1);
      const client = await own.connect();
      await client.query('BEGIN');
      await client.query('INSERT INTO tenure.jobs (namespace, job) VALUES ($1, $2)', [
        namespace,
        'left',
      ]);
      client.release();
      await expect(step(store, token)).rejects.toMatchObject({ storeCode: 'TN013' });
      await step(store, token);
      const { rows } = await database.pool.query(
        'SELECT job FROM tenure.jobs WHERE namespace = $1',
        [namespace],
      );
      expect(rows).toEqual([{ job: 'job-0' }]);
      await store.close();
      await own.end();
    },
  );
});

it('a leader of fifty jobs that is 30 ms away from its server begins all of them in each tick', async () => {
  const { store, proxy, close } = await proxied('far', 4);
  proxy.down.set({ kind: 'delay', delayMs: 30 });
  const schedule = new Schedule(store, { ttlMs: 6_000 });
  const began = new Map<number, number>();
  const failures: unknown[] = [];
  const bothTicks = new Promise<void>((resolve) => {
    schedule.events.on('runEnded', ({ run: { tickMs } }) => {
      began.set(tickMs, (began.get(tickMs) ?? 0) + 1);
      if ([...began.values()].filter((count) => count === 50).length === 2) resolve();
    });
  });
  schedule.events.on('ticksSkipped', (skipped) => failures.push(skipped));
  schedule.events.on('leadershipFailed', (failed) => failures.push(failed));
  for (const job of jobsOf(50)) schedule.job(job, { cron: '*/5 * * * * *' }, () => {});
  schedule.start();
  await bothTicks;
  await schedule.close();
  expect(failures).toEqual([]);
  const { jobs } = await store.jobs(call);
  expect(jobs).toHaveLength(50);
  await close();
}, 60_000);
