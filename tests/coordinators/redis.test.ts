import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AcquireResult, Holder } from '../../src/coordinators/index.js';
import { type RedisCoordinator, redisCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';

const tag = '{tenure:team%2Fa}';

describe('the Redis coordinator', () => {
  let server: RedisServer;
  let admin: Redis;
  let coordinator: RedisCoordinator;
  const ann = Holder.create('ann', realRuntime);
  const bob = Holder.create('bob', realRuntime);

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });
  beforeEach(async () => {
    await admin.flushall();
    coordinator = redisCoordinator(server.url, { namespace: 'team/a' });
  });
  afterEach(() => coordinator.close());
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  const acquire = async (name: string, holder = ann, ttlMs = 60_000): Promise<AcquireResult> => {
    const attempt = realRuntime.randomHex(16);
    const [result] = await coordinator.acquire([{ name, holder, attempt, ttlMs }], call);
    return result as AcquireResult;
  };
  const take = async (name: string, holder = ann, ttlMs = 60_000): Promise<number> => {
    const result = await acquire(name, holder, ttlMs);
    return result.outcome === 'granted' ? result.term : expect.fail(result.outcome);
  };
  const renew = async (name: string, term: number, ttlMs = 60_000) =>
    (await coordinator.renew([{ name, holder: ann, term, ttlMs }], call))[0]?.outcome;
  const leaseKey = (name: string) => `${tag}:lease:${name.replaceAll('/', '%2F')}`;

  describe('keeps its keys', () => {
    it('under one hash tag, names encoded', async () => {
      await take('jobs/ä{x}*');
      await coordinator.writeDocument('pins', '{}', 0, call);
      expect((await admin.keys('*')).sort()).toEqual([
        `${tag}:doc:pins`,
        `${tag}:group:jobs`,
        `${tag}:lease:jobs%2F%C3%A4%7Bx%7D%2A`,
        `${tag}:term`,
      ]);
      const slots = (await admin.keys('*')).map((key) => /\{.*?\}/.exec(key)?.[0]);
      expect(new Set(slots)).toEqual(new Set([tag]));
    });

    it('in the documented form', async () => {
      const request = { name: 'job', holder: ann, attempt: 'a'.repeat(32), ttlMs: 60_000 };
      const [result] = await coordinator.acquire([{ ...request, metadata: '{"a":"|"}' }], call);
      const term = result?.outcome === 'granted' ? result.term : 0;
      const text = await admin.get(leaseKey('job'));
      expect(text).toMatch(
        new RegExp(
          `^2L\\|${term}\\|ann:[0-9a-f]{32}\\|60000\\|0\\|0\\|a{32}\\|\\d{13}\\|\\{"a":"\\|"\\}$`,
        ),
      );
      await coordinator.handoff(
        [{ name: 'job', holder: ann, term, to: 'bob', reserveMs: 500 }],
        call,
      );
      expect(await admin.get(leaseKey('job'))).toBe(`2R|${term}|bob|500`);
    });

    it('from staying for ever: all but documents expire, the last term after its own time has come', async () => {
      const above = Date.now() + 1_000_000_000;
      await coordinator.acquire(
        [{ name: 'jobs/a', holder: ann, attempt: 'b'.repeat(32), ttlMs: 1_000, above }],
        call,
      );
      const ttls = Object.fromEntries(
        await Promise.all(
          (await admin.keys('*')).map(async (key) => [key, await admin.pttl(key)] as const),
        ),
      );
      const days30 = 30 * 24 * 60 * 60 * 1000;
      expect(ttls[`${tag}:term`]).toBeGreaterThan(1_000_000_000 + days30 - 60_000);
      expect(ttls[leaseKey('jobs/a')]).toBeLessThanOrEqual(1_000);
      expect(ttls[`${tag}:group:jobs`]).toBeGreaterThan(1_000);
      expect(ttls[`${tag}:group:jobs`]).toBeLessThanOrEqual(8_000);
    });

    it('as short as it can: a release leaves neither record nor entry', async () => {
      const term = await take('jobs/a');
      await coordinator.release([{ name: 'jobs/a', holder: ann, term }], call);
      expect(await admin.keys('*')).toEqual([`${tag}:term`]);
    });

    it('and forgets names that nobody released, a few with each acquire', async () => {
      const index = `${tag}:group:jobs`;
      const past = Date.now() - 1;
      for (let count = 0; count < 20; count++) await admin.zadd(index, past, `jobs/dead-${count}`);
      await take('jobs/a');
      await take('jobs/b');
      expect(await admin.zcard(index)).toBe(20 - 16 + 2);
      await coordinator.list('jobs', call);
      expect((await admin.zrange(index, '0', '-1')).sort()).toEqual(['jobs/a', 'jobs/b']);
    });
  });

  describe('keeps the index of a group', () => {
    it('alive by renewals, and enters a name again if it was lost', async () => {
      const term = await take('jobs/a');
      await admin.pexpire(`${tag}:group:jobs`, 1_000);
      expect(await renew('jobs/a', term)).toBe('renewed');
      expect(await admin.pttl(`${tag}:group:jobs`)).toBeGreaterThan(400_000);
      await admin.del(`${tag}:group:jobs`);
      // Another client knows nothing of the name, and so enters it with its first renewal.
      const other = redisCoordinator(server.url, { namespace: 'team/a' });
      await other.renew([{ name: 'jobs/a', holder: ann, term, ttlMs: 60_000 }], call);
      await other.close();
      expect((await coordinator.list('jobs', call)).map(({ name }) => name)).toEqual(['jobs/a']);
    });

    it('and gives its TTL back if somebody took it', async () => {
      await take('jobs/a');
      await admin.persist(`${tag}:group:jobs`);
      await take('jobs/b');
      expect(await admin.pttl(`${tag}:group:jobs`)).toBeGreaterThan(0);
    });

    it('as long as its longest lease', async () => {
      await take('jobs/long', ann, 60_000);
      await take('jobs/short', ann, 1_000);
      expect(await admin.pttl(`${tag}:group:jobs`)).toBeGreaterThan(400_000);
    });
  });

  describe('repairs', () => {
    it.each([
      ['a lease without a TTL', (key: string) => admin.persist(key)],
      // As after the server's clock was stepped back by an hour.
      ['a lease with a TTL far beyond its own', (key: string) => admin.pexpire(key, 3_600_000)],
    ])('%s: the next who wants it cuts it down to its own ttl', async (_, tamper) => {
      const repaired: string[] = [];
      coordinator.on('repaired', ({ name }) => repaired.push(name));
      const term = await take('job', ann, 500);
      await tamper(leaseKey('job'));
      const [seen] = await coordinator.read(['job'], call);
      expect(seen).toMatchObject({ state: 'held', remainingMs: 500 });
      expect((await acquire('job', bob)).outcome).toBe('held');
      expect(repaired).toEqual(['job']);
      expect(await admin.pttl(leaseKey('job'))).toBeLessThanOrEqual(500);
      await expect.poll(() => acquire('job', bob)).toMatchObject({ outcome: 'granted' });
      expect(await renew('job', term)).toBe('not-yours');
    });

    it('a reservation without a TTL', async () => {
      const term = await take('job');
      await coordinator.handoff(
        [{ name: 'job', holder: ann, term, to: 'cid', reserveMs: 300 }],
        call,
      );
      await admin.persist(leaseKey('job'));
      expect((await acquire('job', bob)).outcome).toBe('held');
      await expect.poll(() => acquire('job', bob)).toMatchObject({ outcome: 'granted' });
    });

    it('nothing that was renewed with a longer ttl than it was granted with', async () => {
      const term = await take('job', ann, 500);
      expect(await renew('job', term, 60_000)).toBe('renewed');
      expect(await acquire('job', bob)).toMatchObject({ outcome: 'held' });
      expect(await admin.pttl(leaseKey('job'))).toBeGreaterThan(50_000);
    });
  });

  describe('leaves alone what is not its own:', () => {
    it('a key of another type under a name', async () => {
      const corrupt: string[] = [];
      coordinator.on('corrupt', ({ name }) => corrupt.push(name));
      await admin.rpush(leaseKey('job'), 'x');
      expect(await acquire('job')).toMatchObject({ outcome: 'corrupt' });
      const renewal = { name: 'job', holder: ann, term: 1, ttlMs: 1_000 };
      expect(await coordinator.renew([renewal], call)).toEqual([
        { outcome: 'not-yours', reason: 'superseded' },
      ]);
      const release = { name: 'job', holder: ann, term: 1 };
      expect(await coordinator.release([release], call)).toEqual([
        { outcome: 'not-yours', reason: 'superseded' },
      ]);
      await expect(coordinator.read(['job'], call)).rejects.toMatchObject({
        code: 'TENURE_RECORD_CORRUPT',
        message: expect.stringContaining(`(the key "${leaseKey('job')}")`),
      });
      expect(await admin.lrange(leaseKey('job'), 0, -1)).toEqual(['x']);
      expect(corrupt).toEqual(['job']);
    });

    it('a text under a name that no lease has stood under, and lists tell of it once somebody has asked for it', async () => {
      await admin.set(leaseKey('jobs/a'), 'hello');
      expect(await acquire('jobs/a')).toMatchObject({ outcome: 'corrupt' });
      const corrupt: string[] = [];
      coordinator.on('corrupt', ({ name }) => corrupt.push(name));
      expect(await coordinator.list('jobs', call)).toEqual([]);
      expect(corrupt).toEqual(['jobs/a']);
      expect(await admin.pttl(`${tag}:group:jobs`)).toBeGreaterThan(0);
    });

    it.each(['2L|1|ann:x|1|2|3|', '1L|5|ann', '1R|1|bob|x', '1L|1|ann:0|99999999999|00|1|', ''])(
      'a text that is nearly a record: "%s"',
      async (text) => {
        await admin.set(leaseKey('job'), text);
        expect(await acquire('job')).toMatchObject({ outcome: 'corrupt' });
        expect(await admin.get(leaseKey('job'))).toBe(text);
      },
    );

    it('an index of another type: nothing is granted that could not be listed', async () => {
      await admin.set(`${tag}:group:jobs`, 'x');
      expect(await acquire('jobs/a')).toMatchObject({ outcome: 'corrupt' });
      expect(await admin.get(leaseKey('jobs/a'))).toBeNull();
      await expect(coordinator.list('jobs', call)).rejects.toMatchObject({
        code: 'TENURE_RECORD_CORRUPT',
      });
      expect(await admin.get(`${tag}:group:jobs`)).toBe('x');
    });

    it('an index that became another type under a held lease does not end it', async () => {
      const term = await take('jobs/a');
      await admin.set(`${tag}:group:jobs`, 'x');
      expect(await renew('jobs/a', term)).toBe('renewed');
      expect(await coordinator.release([{ name: 'jobs/a', holder: ann, term }], call)).toEqual([
        { outcome: 'ended' },
      ]);
    });

    it('a last term that is none: nothing is granted', async () => {
      await admin.set(`${tag}:term`, 'many');
      expect(await acquire('job')).toMatchObject({ outcome: 'corrupt' });
      await admin.del(`${tag}:term`);
      await admin.rpush(`${tag}:term`, '1');
      expect(await acquire('job')).toMatchObject({ outcome: 'corrupt' });
      await admin.set(`${tag}:term`, '8640000000000000');
      await expect(acquire('job')).rejects.toMatchObject({ storeCode: 'TERMS_EXHAUSTED' });
    });

    it('a document of another type', async () => {
      for (const write of [
        () => admin.set(`${tag}:doc:pins`, 'x'),
        () => admin.hset(`${tag}:doc:pins`, 'color', 'red'),
      ]) {
        await admin.del(`${tag}:doc:pins`);
        await write();
        const corrupt = { code: 'TENURE_RECORD_CORRUPT' };
        await expect(coordinator.readDocument('pins', call)).rejects.toMatchObject(corrupt);
        await expect(coordinator.writeDocument('pins', 'x', 0, call)).rejects.toMatchObject(
          corrupt,
        );
      }
    });

    it.each<[string, Record<string, string>]>([
      ['without a version', { text: '{}' }],
      ['without a text', { version: '1' }],
      ['of version 0', { version: '0', text: '{}' }],
      ['of version -1', { version: '-1', text: '{}' }],
      ['of version 1.5', { version: '1.5', text: '{}' }],
      ['of version 1e3', { version: '1e3', text: '{}' }],
      ['of version 0x10', { version: '0x10', text: '{}' }],
      ['of version 01', { version: '01', text: '{}' }],
      ['of version "one"', { version: 'one', text: '{}' }],
      ['of an empty version', { version: '', text: '{}' }],
      ['of a version that is not safe', { version: '9007199254740993', text: '{}' }],
      ['of an endless version', { version: '9'.repeat(400), text: '{}' }],
    ])('a document %s', async (_what, fields) => {
      const key = `${tag}:doc:pins`;
      await admin.hset(key, fields);
      const corrupt = { code: 'TENURE_RECORD_CORRUPT' };
      await expect(coordinator.readDocument('pins', call)).rejects.toMatchObject(corrupt);
      const { version = '0' } = fields;
      const expected = [0, 1, Number(version)].filter((number) => Number.isSafeInteger(number));
      for (const number of expected.filter((candidate) => candidate >= 0)) {
        const writing = coordinator.writeDocument('pins', 'x', number, call);
        await expect(writing).rejects.toMatchObject(corrupt);
      }
      expect(await admin.hgetall(key)).toEqual(fields);
    });
  });

  describe('gives terms', () => {
    it('from the clock of the server, one for all that a call grants', async () => {
      const before = Date.now();
      const requests = ['a', 'b', 'c'].map((name) => ({
        name,
        holder: ann,
        attempt: realRuntime.randomHex(16),
        ttlMs: 1_000,
      }));
      const results = await coordinator.acquire(requests, call);
      const terms = results.map((result) => (result.outcome === 'granted' ? result.term : 0));
      expect(terms[0]).toBeGreaterThanOrEqual(before);
      expect(terms[0]).toBeLessThanOrEqual(Date.now());
      expect(new Set(terms).size).toBe(1);
      expect(await admin.get(`${tag}:term`)).toBe(String(terms[0]));
    });

    it('above every name that a call grants, and not for one that it does not', async () => {
      const request = (name: string, above: number) => {
        const attempt = realRuntime.randomHex(16);
        return { name, holder: ann, attempt, ttlMs: 1_000, above };
      };
      const hour = 3_600_000;
      const soon = Date.now() + hour;
      await coordinator.acquire([request('held', 1)], call);
      const asked = [request('a', soon), request('held', soon + hour), request('b', 1)];
      const results = await coordinator.acquire(asked, call);
      const terms = results.map((result) => (result.outcome === 'granted' ? result.term : 0));
      expect(terms).toEqual([soon + 1, 0, soon + 1]);
    });

    it('in one order for the whole namespace, whoever asks', async () => {
      const others = Array.from({ length: 4 }, () =>
        redisCoordinator(server.url, { namespace: 'team/a' }),
      );
      const results = await Promise.all(
        others.flatMap((other, client) =>
          Array.from({ length: 25 }, (_, index) =>
            other.acquire(
              [
                {
                  name: `n/${client}-${index}`,
                  holder: ann,
                  attempt: realRuntime.randomHex(16),
                  ttlMs: 1_000,
                },
              ],
              call,
            ),
          ),
        ),
      );
      const terms = results
        .flat()
        .map((result) => (result.outcome === 'granted' ? result.term : 0));
      expect(new Set(terms).size).toBe(100);
      expect(terms).not.toContain(0);
      for (const other of others) await other.close();
    });
  });

  it('reads many names in pieces, so that renewals get in between', async () => {
    const names = Array.from({ length: 1_500 }, (_, index) => `many/${index}`);
    await acquire('many/0');
    await acquire('many/1400');
    await coordinator.read(['many/0'], call);
    await admin.config('RESETSTAT');
    const records = await coordinator.read(names, call);
    expect(await admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=3,/);
    expect(records).toHaveLength(1_500);
    expect(records.flatMap((record, index) => (record === undefined ? [] : [index]))).toEqual([
      0, 1_400,
    ]);
  });

  it('tells when the connection was lost, so that leases become uncertain', async () => {
    let lostCount = 0;
    const stop = coordinator.onConnectionLost(() => {
      lostCount += 1;
    });
    await take('job');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => lostCount).toBe(1);
    stop();
  });

  it('replaces the metadata without ending the ttl', async () => {
    const term = await take('job');
    const renewal = { name: 'job', holder: ann, term, ttlMs: 60_000, metadata: '{}' };
    await coordinator.renew([renewal], call);
    expect(await admin.pttl(leaseKey('job'))).toBeGreaterThan(50_000);
  });

  it('refuses a bad namespace or URL at once', () => {
    expect(() => redisCoordinator(server.url, { namespace: '' })).toThrow('namespace');
    expect(() => redisCoordinator('http://x')).toThrow('url');
  });

  it('says OOM and grants nothing when the server is full', async () => {
    const term = await take('job');
    await admin.config('SET', 'maxmemory', '1');
    await expect(acquire('other')).rejects.toMatchObject({ storeCode: 'OOM' });
    // Extending writes no new data, so who holds a lease keeps it.
    expect(await renew('job', term)).toBe('renewed');
    await admin.config('SET', 'maxmemory', '0');
    expect(await admin.exists(leaseKey('other'))).toBe(0);
  });
});
