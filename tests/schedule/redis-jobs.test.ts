import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OutcomeUnknownError, RecordCorruptError } from '../../src/errors/index.js';
import { type RedisJobStore, redisJobs } from '../../src/redis.js';
import { jobStoreCases } from '../../src/schedule/conformance/index.js';
import {
  act,
  call,
  claim,
  claimed,
  ended,
  idsOf,
  job,
  runAt,
  tokenOf,
  viewOf,
  write,
} from '../../src/schedule/conformance/scene.js';
import { documentedRights, documentedUser } from '../support/documented-rights.js';
import { FaultProxy } from '../support/proxy.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';

const namespace = 'team/a';
const tag = '{tenure:team%2Fa}';

let server: RedisServer;
let admin: Redis;
let proxy: FaultProxy;
let store: RedisJobStore;
/** Reaches the server over the proxy. */
let remote: RedisJobStore;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
  proxy = await FaultProxy.start(server.port);
});
beforeEach(async () => {
  await admin.flushall();
  store = redisJobs(server.url, { namespace });
  remote = redisJobs(`redis://127.0.0.1:${proxy.port}`, { namespace });
});
afterEach(async () => {
  proxy.heal();
  await Promise.all([store.close(), remote.close()]);
});
afterAll(async () => {
  await proxy.stop();
  admin.disconnect();
  await server.stop();
});

/** Sends again what was sent once, as it was, and waits for all its answers. */
async function again(pieces: readonly Buffer[]): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(Buffer.concat([...pieces, Buffer.from('PING\r\n')]));
  let answer = '';
  while (!answer.includes('PONG')) answer += String((await once(socket, 'data'))[0]);
  socket.destroy();
  return answer;
}

describe('a write that is executed once more, after others have followed it,', () => {
  it.each([
    ['while it could be in time', (pieces: Buffer[]) => again(pieces)],
    [
      'after its script was forgotten',
      async (pieces: Buffer[]) => {
        await admin.script('FLUSH');
        return await again(pieces);
      },
    ],
  ])('changes nothing: %s', async (_, repeat) => {
    const token = tokenOf(1);
    await claimed(remote, token);
    const run = runAt(token, 5);
    const sent: Buffer[] = [];
    proxy.up.set({ kind: 'overhear', heard: (bytes) => sent.push(bytes) });
    await write(remote, token, { begin: run });
    proxy.up.heal();
    await write(store, token, { runs: [ended(run)] });
    const before = await viewOf(store);
    expect(await repeat(sent)).toMatch(/changed|NOSCRIPT/);
    expect(await viewOf(store)).toEqual(before);
    expect(before.open).toEqual([]);
  });
});

it('a write whose answer was lost is shown to whoever repeats it', async () => {
  const token = tokenOf(1);
  await claimed(remote, token);
  const run = runAt(token, 5);
  // Once it was looked, what is written gets no answer.
  let pieceCount = 0;
  proxy.down.set({ kind: 'judge', fateOf: () => (pieceCount++ === 0 ? 'none' : 'swallow') });
  await expect(remote.write(token, { job, begin: run }, { timeoutMs: 500 })).rejects.toBeInstanceOf(
    OutcomeUnknownError,
  );
  proxy.heal();
  const result = await remote.write(token, { job, begin: run }, call);
  expect(result).toEqual({ outcome: 'exists', run });
});

it('all keys begin with the hash tag of the namespace, whatever the names hold', async () => {
  const token = tokenOf(1);
  const name = 'a}b{c:* 名';
  await claimed(store, token, { definition: { job: name, cron: '@daily', timeZone: 'UTC' } });
  const run = runAt(token, 5, { job: name });
  await store.write(token, { job: name, begin: run }, call);
  await store.cancel(name, run.id, act, call);
  await store.request({ id: 'by hand', job: name, ...act }, call);
  await store.write(token, { job: name, runs: [ended(runAt(token, 4, { job: name }))] }, call);
  const keys = await admin.keys('*');
  expect(keys.sort()).toEqual(
    ['job-cancels', 'job-ended', 'job-open', 'job-requests', 'job-runs', 'job']
      .map((kind) => `${tag}:${kind}:a%7Db%7Bc%3A%2A%20%E5%90%8D`)
      .concat(`${tag}:jobs`)
      .sort(),
  );
  expect((await store.jobs(call)).jobs.map(({ record }) => record.job)).toEqual([name]);
});

it.each(['job', 'job-runs', 'job-open', 'job-ended', 'job-requests', 'job-cancels'])(
  'what is not its own under %s is told of and left alone',
  async (kind) => {
    const token = tokenOf(1);
    await claimed(store, token);
    const key = `${tag}:${kind}:${job}`;
    await admin.set(key, 'something else');
    const corrupt = [{ job, error: expect.any(RecordCorruptError) }];
    expect(await store.look([job], call)).toMatchObject({ jobs: [], corrupt });
    const begun = store.write(token, { job, begin: runAt(token, 5) }, call);
    await expect(begun).rejects.toBeInstanceOf(RecordCorruptError);
    expect(await claim(store, tokenOf(2))).toMatchObject({ outcome: 'corrupt' });
    expect(await admin.get(key)).toBe('something else');
    expect(await store.forget(job, undefined, call)).toEqual({ outcome: 'forgotten' });
    await claimed(store, tokenOf(2));
  },
);

it.each(['job-open', 'job-ended'])(
  'a member of %s that is the id of no run is told of and left alone, by a look and by the history',
  async (kind) => {
    const token = tokenOf(1);
    await claimed(store, token);
    await write(store, token, { begin: runAt(token, 5) });
    await write(store, token, { runs: [ended(runAt(token, 5))] });
    await admin.zadd(`${tag}:${kind}:${job}`, 4, 'something else');
    const corrupt = [{ job, error: expect.any(RecordCorruptError) }];
    expect(await store.look([job], call)).toMatchObject({ jobs: [], corrupt });
    expect(await store.jobs(call)).toMatchObject({ jobs: [], corrupt });
    await expect(store.runs(job, { limit: 1 }, call)).rejects.toBeInstanceOf(RecordCorruptError);
    expect(await claim(store, tokenOf(2))).toMatchObject({ outcome: 'corrupt' });
    await admin.zrem(`${tag}:${kind}:${job}`, 'something else');
    expect(await store.runs(job, { limit: 1 }, call)).toHaveLength(1);
    await claimed(store, tokenOf(2));
  },
);

it('a run whose text is gone is not taken for one that never was', async () => {
  const token = tokenOf(1);
  await claimed(store, token);
  await write(store, token, { begin: runAt(token, 5) });
  await admin.del(`${tag}:job-runs:${job}`);
  const corrupt = [{ job, error: expect.any(RecordCorruptError) }];
  expect(await store.look([job], call)).toMatchObject({ jobs: [], corrupt });
});

it('of a long history only so much is forgotten at once that nobody waits for it', async () => {
  const token = tokenOf(1);
  await claimed(store, token);
  const runs = Array.from({ length: 1_500 }, (_, minute) => ended(runAt(token, minute)));
  await write(store, token, { runs });
  const kept = () => admin.hlen(`${tag}:job-runs:${job}`);
  await write(store, token, { keepRuns: 10 });
  expect(await kept()).toBe(500);
  await write(store, token, { keepRuns: 10 });
  expect(await kept()).toBe(10);
  const left = await store.runs(job, { limit: 100 }, call);
  expect(idsOf(left)).toEqual(idsOf(runs.slice(-10).reverse()));
});

it.each([
  ['ioredis', async () => new Redis(server.url, { lazyConnect: true })],
  ['node-redis', async () => createClient({ url: server.url })],
])('a client of %s is used like a URL, and never itself', async (_, open) => {
  const client = await open();
  const own = redisJobs(client, { namespace });
  try {
    const token = tokenOf(1);
    await claimed(own, token);
    await write(own, token, { begin: runAt(token, 5) });
    expect((await viewOf(store)).open).toHaveLength(1);
    expect('isOpen' in client ? client.isOpen : client.status).toBeOneOf([false, 'wait']);
  } finally {
    await own.close();
  }
});

describe('with replicas that are waited for', () => {
  it('nothing counts that they do not have, be it written now or found', async () => {
    const token = tokenOf(1);
    await claimed(store, token);
    const run = runAt(token, 5);
    const careful = redisJobs(server.url, { namespace, replicas: 1, replicaTimeoutMs: 20 });
    try {
      const begun = careful.write(token, { job, begin: run }, call);
      await expect(begun).rejects.toBeInstanceOf(OutcomeUnknownError);
      await write(store, token, { begin: run });
      const found = careful.write(token, { job, begin: run }, call);
      await expect(found).rejects.toBeInstanceOf(OutcomeUnknownError);
    } finally {
      await careful.close();
    }
  });
});

describe('with the rights that docs/protocol.md lists, and no others,', () => {
  const ofJobs = documentedRights('jobs');
  const cases = jobStoreCases.filter(({ id }) =>
    [
      'writes/fields',
      'writes/history',
      'operators/request',
      'operators/cancel',
      'removals/forget',
    ].includes(id),
  );
  const isWorking = async () => {
    await admin.script('FLUSH');
    const user = redisJobs(server.url.replace('//', '//tenure:least-rights@'), { namespace });
    try {
      for (const { run } of cases) {
        await admin.flushall();
        await run({ store: user, other: user, controls: {}, close: async () => {} });
      }
      await user.jobs(call);
      return true;
    } catch {
      return false;
    } finally {
      await user.close();
    }
  };

  beforeAll(async () => {
    for (const [command = '', ...words] of documentedUser('least-rights', ['jobs']))
      await admin.call(command, ...words);
  });

  it('jobs work, and each right is needed', async () => {
    expect(await isWorking()).toBe(true);
    for (const right of ofJobs.split(' ').filter((word) => word.startsWith('+'))) {
      await admin.call('ACL', 'SETUSER', 'tenure', `-${right.slice(1)}`);
      expect(await isWorking(), right).toBe(false);
      await admin.call('ACL', 'SETUSER', 'tenure', right);
    }
  });
});
