import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { historyCount } from '../../src/coordinators/history.js';
import { Elections } from '../../src/elections/index.js';
import { Leases } from '../../src/leases/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { ann, bob, call, dayMs, operator, RedisFixture, tag } from './redis-fixture.js';

const keptMs = 30 * dayMs;
const corrupt = { code: 'TENURE_RECORD_CORRUPT' };

describe('the Redis coordinator keeps', () => {
  const redis = new RedisFixture();
  const lease = (name: string) => redis.admin.get(redis.key('lease', name));
  const lines = (name: string) => redis.admin.lrange(redis.key('history', name), 0, -1);
  const words = '["ops","maintenance"]';

  describe('in the documented form', () => {
    it('a lease with a lock-delay and a history, for as long as all of it lasts', async () => {
      const attempt = 'a'.repeat(32);
      const parts = { attempt, graceMs: 2_000, keepHistory: true, metadata: '"|"' };
      const term = await redis.take('jobs/a', parts);
      expect(await lease('jobs/a')).toMatch(
        new RegExp(
          `^2E\\|${term}\\|ann:[0-9a-f]{32}\\|60000\\|2000\\|${keptMs}\\|a{32}\\|\\d{13}\\|"\\|"$`,
        ),
      );
      const lifeMs = await redis.admin.pttl(redis.key('lease', 'jobs/a'));
      expect(lifeMs).toBeGreaterThan(keptMs + 61_000);
      expect(lifeMs).toBeLessThanOrEqual(keptMs + 62_000);
      expect(await lines('jobs/a')).toEqual([
        expect.stringMatching(new RegExp(`^1T\\|${term}\\|ann\\|\\d{13}\\|\\|$`)),
      ]);
    });

    it('a lock-delay without a history, for no longer than that', async () => {
      await redis.take('job', { ttlMs: 1_000, graceMs: 500 });
      expect(await redis.admin.pttl(redis.key('lease', 'job'))).toBeLessThanOrEqual(1_500);
      expect(await lines('job')).toEqual([]);
    });

    it('a revoked lease: its head and metadata as they were, and what is to follow', async () => {
      const term = await redis.take('job', { metadata: '"|"', graceMs: 500 });
      const head = (await lease('job'))?.slice('2E'.length, -'"|"'.length);
      const reason = 'a "second" | thought';
      await redis.coordinator.revoke('job', { by: 'ops', reason }, call);
      const [, at] = /^.*\|(\d{13})\|\[/.exec((await lease('job')) ?? '') ?? [];
      expect(await lease('job')).toBe(
        `2X${head}${at}|["ops","a \\"second\\" \\u007c thought"]||0|"|"`,
      );
      const other = { ...operator, to: 'bob', reserveMs: 700 };
      await redis.coordinator.revoke('job', other, call);
      expect(await lease('job')).toMatch(/\|\["ops","maintenance"\]\|bob\|700\|"\|"$/);
      expect(await redis.admin.pttl(redis.key('lease', 'job'))).toBeLessThanOrEqual(61_200);
      const record = await redis.read('job');
      expect(record).toMatchObject({ state: 'held', term, metadata: '"|"', graceMs: 500 });
      expect(await lines('job')).toEqual([
        expect.stringMatching(/^1A\|revoke\|\d{13}\|\|\["ops","a \\"second\\" \\u007c thought"\]$/),
        expect.stringMatching(/^1A\|revoke\|\d{13}\|bob\|\["ops","maintenance"\]$/),
      ]);
    });

    it('suspensions in one table for the namespace, and without a TTL', async () => {
      await redis.coordinator.suspend('jobs/a', operator, call);
      const table = await redis.admin.hgetall(`${tag}:suspended`);
      expect(table).toEqual({ 'jobs/a': expect.stringMatching(/^1\|\d{13}\|\["ops","/) });
      expect(table['jobs/a']?.endsWith(words)).toBe(true);
      expect(await redis.admin.pttl(`${tag}:suspended`)).toBe(-1);
      await redis.coordinator.resume('jobs/a', operator, call);
      expect(await redis.admin.keys('*')).toEqual([redis.key('history', 'jobs/a')]);
    });
  });

  it('what people wrote as they wrote it', async () => {
    const by = '😀 | "ops" \\u007c';
    const reason = `${'|'.repeat(500)}\\${'"'.repeat(500)}`;
    await redis.take('job');
    const act = { by, reason };
    const record = await redis.coordinator.revoke('job', act, call);
    expect(record).toMatchObject({ state: 'held', revocation: act });
    expect(await redis.read('job')).toMatchObject({ revocation: act });
    expect(await redis.coordinator.suspend('job', act, call)).toMatchObject({ suspension: act });
    const [first, second] = await redis.coordinator.history('job', call);
    expect([first, second]).toMatchObject([act, act]);
  });

  it('whole acts in the last millisecond of a lease', async () => {
    const names = Array.from({ length: 100 }, (_, number) => `jobs/${number}`);
    // The acts that follow take longer than that, so some of them meet a PTTL of 0.
    const shorten = (name: string) => redis.admin.pexpire(redis.key('lease', name), 3);
    const isFree = async () => (await redis.coordinator.read(['job'], call))[0] === undefined;
    for (let round = 0; round < 10; round++) {
      await vi.waitUntil(isFree, { interval: 1 });
      await redis.take('job');
      await shorten('job');
      const reasons = names.map((name) => `${name}, round ${round}`);
      const act = (reason: string) => redis.coordinator.revoke('job', { by: 'ops', reason }, call);
      await Promise.all(reasons.map(act));
    }
    for (const name of names) await redis.take(name);
    await Promise.all(names.map(shorten));
    await Promise.all(names.map((name) => redis.coordinator.suspend(name, operator, call)));
    expect(await redis.coordinator.list('jobs', call)).toHaveLength(names.length);
  });

  describe('no history for ever', () => {
    it('but as long as a term lasts: renewals keep it', async () => {
      const term = await redis.take('job', { keepHistory: true });
      const key = redis.key('history', 'job');
      expect(await redis.admin.pttl(key)).toBeGreaterThan(keptMs - 60_000);
      await redis.admin.pexpire(key, 1_000);
      // Another client does not know when the name was last looked after, so it does that with its first renewal.
      const other = redis.client();
      await other.renew([{ name: 'job', holder: ann, term, ttlMs: 60_000 }], call);
      await other.close();
      expect(await redis.admin.pttl(key)).toBeGreaterThan(keptMs - 60_000);
    });

    it('of a name whose leases want none', async () => {
      await redis.release('job', await redis.take('job', { graceMs: 1_000 }));
      expect(await redis.admin.keys('*')).toEqual([`${tag}:term`]);
    });

    it('of more than its last lines, of which none is too long to be kept', async () => {
      const key = redis.key('history', 'job');
      await redis.admin.rpush(key, ...new Array(historyCount).fill('1T|1|ann|1|2|released'));
      await redis.take('job', { keepHistory: true });
      expect(await redis.admin.llen(key)).toBe(historyCount);
    });
  });

  describe('a name in the list of its group', () => {
    const listed = async () =>
      (await redis.coordinator.list('jobs', call)).map(({ name, state }) => [name, state]);

    it('during its lock-delay, however long, and not while it is only remembered', async () => {
      const long = { ttlMs: 100, graceMs: 60_000 };
      await redis.take('jobs/long', long);
      await redis.take('jobs/over', { ttlMs: 100, keepHistory: true });
      await expect.poll(listed).toEqual([['jobs/long', 'lock-delay']]);
      expect(await redis.admin.pttl(redis.key('group', 'jobs'))).toBeGreaterThan(60_000);
      expect(
        Number(await redis.admin.zscore(redis.key('group', 'jobs'), 'jobs/long')),
      ).toBeGreaterThan(Date.now() + 60_000);
    });

    it('after renewals too', async () => {
      const term = await redis.take('jobs/a', { ttlMs: 1_000, graceMs: 60_000 });
      await redis.admin.del(redis.key('group', 'jobs'));
      const other = redis.client();
      await other.renew([{ name: 'jobs/a', holder: ann, term, ttlMs: 1_000 }], call);
      await other.close();
      const score = await redis.admin.zscore(redis.key('group', 'jobs'), 'jobs/a');
      expect(Number(score)).toBeGreaterThan(Date.now() + 60_000);
    });

    it('as long as it is reserved for the successor of a revoked term', async () => {
      await redis.take('jobs/a', { ttlMs: 100 });
      const request = { ...operator, to: 'bob', reserveMs: 60_000 };
      await redis.coordinator.revoke('jobs/a', request, call);
      await expect.poll(listed).toEqual([['jobs/a', 'reserved']]);
      const score = await redis.admin.zscore(redis.key('group', 'jobs'), 'jobs/a');
      expect(Number(score)).toBeGreaterThan(Date.now() + 59_000);
    });

    it('while it is suspended, though nothing stands under it', async () => {
      await redis.coordinator.suspend('jobs/a', operator, call);
      await redis.coordinator.suspend('other/b', operator, call);
      expect(await listed()).toEqual([['jobs/a', 'suspended']]);
    });
  });

  describe('nothing that blocks a name for longer than its own time:', () => {
    it.each([
      ['a lease with a lock-delay', async () => {}, 'lock-delay'],
      [
        'a revoked lease',
        async () => {
          await redis.coordinator.revoke('job', { ...operator, to: 'cid', reserveMs: 300 }, call);
        },
        'lock-delay',
      ],
    ])('%s whose TTL was taken away is cut down to it', async (_, act, next) => {
      const repaired: string[] = [];
      redis.coordinator.on('repaired', ({ name }) => repaired.push(name));
      const term = await redis.take('job', { ttlMs: 300, graceMs: 300 });
      await act();
      await redis.admin.persist(redis.key('lease', 'job'));
      expect(await redis.read('job')).toMatchObject({ state: 'held', remainingMs: 300 });
      expect(await redis.acquire('job', { holder: bob })).toMatchObject({ outcome: 'held' });
      expect(repaired).toEqual(['job']);
      await expect.poll(() => redis.read('job')).toMatchObject({ state: next });
      await expect
        .poll(() => redis.acquire('job', { holder: bob }))
        .toMatchObject({
          outcome: 'granted',
        });
      expect(await redis.renew('job', term)).toBe('superseded');
    });
  });

  describe('a lease with a lock-delay', () => {
    it('through renewals with another ttl, and with other metadata', async () => {
      const parts = { ttlMs: 1_000, graceMs: 5_000, keepHistory: true };
      const term = await redis.take('job', parts);
      expect(await redis.renew('job', term, 30_000)).toBe('renewed');
      const renewal = { name: 'job', holder: ann, term, ttlMs: 30_000, metadata: '"|"' };
      expect(await redis.coordinator.renew([renewal], call)).toEqual([{ outcome: 'renewed' }]);
      expect(await redis.read('job')).toMatchObject({
        state: 'held',
        ttlMs: 30_000,
        graceMs: 5_000,
        metadata: '"|"',
      });
      const lifeMs = await redis.admin.pttl(redis.key('lease', 'job'));
      expect(lifeMs).toBeGreaterThan(keptMs + 34_000);
      expect(lifeMs).toBeLessThanOrEqual(keptMs + 35_000);
    });
  });

  describe('apart what is not its own:', () => {
    it.each([
      '1L|1|ann:0123456789abcdef0123456789abcdef|60000|0123456789abcdef0123456789abcdef|1|',
      '2L|1|ann:0123456789abcdef0123456789abcdef|60000|1|0|0123456789abcdef0123456789abcdef|1|',
      '2E|1|ann:0123456789abcdef0123456789abcdef|60000|0|2592000001|0123456789abcdef0123456789abcdef|1|',
      '2X|1|ann:0123456789abcdef0123456789abcdef|60000|0|0|0123456789abcdef0123456789abcdef|1|',
      '2Q|1|bob|1000',
    ])('a text that is nearly a record: "%s"', async (text) => {
      await redis.admin.set(redis.key('lease', 'job'), text);
      expect(await redis.acquire('job')).toMatchObject({ outcome: 'corrupt' });
      expect(await redis.coordinator.revoke('job', operator, call)).toBeUndefined();
      await expect(redis.read('job')).rejects.toMatchObject(corrupt);
      expect(await lease('job')).toBe(text);
    });

    it('a history of another type: it stops no grant and no act, and only its reader is told', async () => {
      await redis.admin.set(redis.key('history', 'job'), 'x');
      const term = await redis.take('job', { keepHistory: true });
      expect(await redis.release('job', term)).toBe('ended');
      await redis.coordinator.suspend('job', operator, call);
      expect(await redis.coordinator.resume('job', operator, call)).toBe(true);
      await expect(redis.coordinator.history('job', call)).rejects.toMatchObject(corrupt);
      expect(await redis.admin.get(redis.key('history', 'job'))).toBe('x');
    });

    it('a line of history that is none', async () => {
      await redis.admin.rpush(redis.key('history', 'job'), '1A|stop|1||["ops","x"]');
      await expect(redis.coordinator.history('job', call)).rejects.toMatchObject(corrupt);
    });

    it('a table of suspensions of another type: who cannot be asked grants nothing', async () => {
      await redis.admin.set(`${tag}:suspended`, 'x');
      expect(await redis.acquire('job')).toMatchObject({ outcome: 'corrupt' });
      await expect(redis.read('job')).rejects.toMatchObject(corrupt);
      await expect(redis.coordinator.list('', call)).rejects.toMatchObject(corrupt);
      await expect(redis.coordinator.suspend('job', operator, call)).rejects.toMatchObject(corrupt);
      await expect(redis.coordinator.resume('job', operator, call)).rejects.toMatchObject(corrupt);
      expect(await redis.admin.get(`${tag}:suspended`)).toBe('x');
    });

    it.each([
      'because',
      '2|1700000000000|["ops","maintenance"]',
      '1|1700000000000|["ops","maintenance"]|more',
      '1|1700000000000|["ops"]',
      '1|1700000000000|["ops",5]',
      '1|1700000000000|["ops"',
      '1|soon|["ops","maintenance"]',
      '1|1700000000000|',
    ])(
      'a suspension that is no text of ours, such as %s: it is one none the less',
      async (text) => {
        await redis.admin.hset(`${tag}:suspended`, 'job', text);
        const left = expect.objectContaining({
          ...corrupt,
          message: expect.stringMatching(/"job"/),
        });
        await expect(redis.coordinator.suspend('job', operator, call)).rejects.toEqual(left);
        await expect(redis.coordinator.resume('job', operator, call)).rejects.toEqual(left);
        expect(await redis.acquire('job')).toMatchObject({ outcome: 'corrupt' });
        expect(await redis.admin.hget(`${tag}:suspended`, 'job')).toBe(text);
        expect(await lines('job')).not.toContainEqual(expect.stringContaining('resume'));
      },
    );

    it('a suspension whose words need escapes is ours', async () => {
      const reason = 'a "second" | thought \u2028 \\ ä';
      await redis.coordinator.suspend('job', { by: 'ops', reason }, call);
      expect(await redis.coordinator.resume('job', operator, call)).toBe(true);
      await redis.take('job');
    });
  });

  it('a full server from suspending and from history, and says so', async () => {
    await redis.admin.config('SET', 'maxmemory', '1');
    const oom = { storeCode: 'OOM' };
    await expect(redis.coordinator.suspend('job', operator, call)).rejects.toMatchObject(oom);
    await redis.admin.config('SET', 'maxmemory', '0');
    expect(await redis.coordinator.history('job', call)).toEqual([]);
    await redis.take('job');
  });

  it('its credentials to itself, whoever prints it, or leases and elections made of it', async () => {
    const coordinator = redisCoordinator('redis://ops:hunter2@127.0.0.1:1');
    const leases = new Leases(coordinator);
    const elections = new Elections(leases);
    expect(JSON.stringify(coordinator.recipe)).toContain('hunter2');
    for (const one of [coordinator, leases, elections, elections.election('job')]) {
      for (const showHidden of [false, true])
        expect(inspect(one, { depth: Infinity, showHidden })).not.toMatch(/hunter2/);
      expect(JSON.stringify(one)).not.toMatch(/hunter2/);
      expect(Object.keys(one)).not.toContain('recipe');
    }
    await elections.close();
    await leases.close();
    await coordinator.close();
  });

  it('its recipe, if it was made from a URL: what another thread needs to make the same', async () => {
    const { recipe } = redis.coordinator;
    const { module, factory, args } = structuredClone(recipe) ?? expect.fail('there is none');
    const made = ((await import(module)) as Record<string, typeof redisCoordinator>)[factory];
    const copy = made?.(...(args as Parameters<typeof redisCoordinator>)) ?? expect.fail();
    await redis.take('job');
    expect(await copy.read(['job'], call)).toMatchObject([{ state: 'held' }]);
    await copy.close();
    const fromClient = redisCoordinator(redis.admin);
    expect(fromClient.recipe).toBeUndefined();
    await fromClient.close();
  });
});
