import { afterEach, describe, expect, it } from 'vitest';
import { type EnrollRequest, Holder, type Standing } from '../../src/coordinators/index.js';
import { realRuntime } from '../../src/time/index.js';
import { ann, bob, call, operator, RedisFixture } from './redis-fixture.js';

const hourMs = 60 * 60 * 1000;
const ttlMs = 400;

/*
 * What a step of the server's wall clock does, by an hour either way. All times in the store are on that clock, so a step
 * moves deadlines; what is tested is by how much at most, and that whoever lives is not the worse for it for long.
 */
describe("when the wall clock of the Redis server is set by an administrator's hand,", () => {
  const redis = new RedisFixture({ clock: true });
  afterEach(() => redis.server.stepClock(-redis.server.clockOffsetMs));

  const taken = (name: string) =>
    expect.poll(() => redis.acquire(name, { holder: bob, ttlMs }), { timeout: 3 * ttlMs });
  const serverMs = async () => Number((await redis.admin.time())[0]) * 1000;

  it('the server, and nobody else, lives by it', async () => {
    for (const stepMs of [hourMs, -hourMs, -hourMs, hourMs]) {
      const before = await serverMs();
      redis.server.stepClock(stepMs);
      expect(Math.abs((await serverMs()) - before - stepMs)).toBeLessThan(5_000);
      expect(await redis.admin.set('x', '1', 'PX', 60_000)).toBe('OK');
      expect(await redis.admin.pttl('x')).toBeGreaterThan(55_000);
    }
    expect(Math.abs((await serverMs()) - Date.now())).toBeLessThan(2_000);
  });

  it.each([hourMs, -hourMs])('by %d ms: calls go on, and terms rise', async (stepMs) => {
    const before = await redis.take('job', { ttlMs: 24 * hourMs });
    redis.server.stepClock(stepMs);
    const other = await redis.take('other');
    expect(other).toBeGreaterThan(before);
    expect(await redis.renew('other', other)).toBe('renewed');
    expect(await redis.release('other', other)).toBe('ended');
    expect(await redis.take('other')).toBeGreaterThan(other);
  });

  describe('forward,', () => {
    it('a lease ends early: its holder learns it at its next renewal, and the next term is higher', async () => {
      const term = await redis.take('job', { graceMs: 60_000, keepHistory: true });
      redis.server.stepClock(hourMs);
      expect(await redis.renew('job', term)).toBe('vanished');
      expect(await redis.take('job', { holder: bob })).toBeGreaterThan(term);
    });

    it('a suspension stays', async () => {
      await redis.coordinator.suspend('job', operator, call);
      redis.server.stepClock(hourMs);
      expect(await redis.acquire('job')).toMatchObject({ outcome: 'held' });
      expect(await redis.coordinator.resume('job', operator, call)).toBe(true);
    });

    it('candidates end, and are there again after their next refresh', async () => {
      const entry = { name: 'job', holder: ann, standing: 'waiting', preference: 0 } as const;
      await redis.coordinator.enroll([{ ...entry, ttlMs: 60_000 }], call);
      redis.server.stepClock(hourMs);
      expect(await redis.coordinator.candidates('job', call)).toEqual([]);
      const [result] = await redis.coordinator.enroll([{ ...entry, ttlMs: 60_000 }], call);
      expect(result?.position).toBe(0);
    });
  });

  describe('back,', () => {
    it.each([
      ['a lease', {}],
      ['a lease with a history', { keepHistory: true }],
      ['a lease with a lock-delay', { graceMs: ttlMs }],
    ])(
      '%s whose holder is dead blocks its name for one time of its own, from the first who wants it',
      async (_, parts) => {
        const repaired: string[] = [];
        redis.coordinator.on('repaired', ({ name }) => repaired.push(name));
        const term = await redis.take('job', { ttlMs, ...parts });
        redis.server.stepClock(-hourMs);
        expect(await redis.read('job')).toMatchObject({ state: 'held', remainingMs: ttlMs });
        expect(await redis.acquire('job', { holder: bob })).toMatchObject({ outcome: 'held' });
        expect(repaired).toEqual(['job']);
        await taken('job').toMatchObject({ outcome: 'granted' });
        expect(await redis.renew('job', term)).toBe('superseded');
      },
    );

    it.each([
      ['a lease', {}],
      ['a lease with a history', { keepHistory: true }],
      ['a lease with a lock-delay', { graceMs: ttlMs }],
    ])(
      '%s whose holder is dead blocks its name for one time of its own, from the first who waits for it',
      async (_, parts) => {
        const repaired: string[] = [];
        redis.coordinator.on('repaired', ({ name }) => repaired.push(name));
        await redis.take('job', { ttlMs, ...parts });
        redis.server.stepClock(-hourMs);
        const enroll = async (standing: Standing) => {
          const entry = { name: 'job', holder: bob, standing, preference: 0, ttlMs: 60_000 };
          return (await redis.coordinator.enroll([entry], call))[0]?.current;
        };
        for (const standing of ['present', 'observing'] as const) await enroll(standing);
        expect(repaired, 'who does not want it changes nothing').toEqual([]);
        expect(await enroll('waiting')).toMatchObject({ state: 'held', remainingMs: ttlMs });
        expect(repaired).toEqual(['job']);
        await expect.poll(() => enroll('waiting'), { timeout: 3 * ttlMs }).toBeUndefined();
        expect(repaired).toEqual(['job']);
      },
    );

    it.each([
      ['a lease', {}],
      ['a lease with a history', { keepHistory: true }],
      ['a lease with a lock-delay', { graceMs: ttlMs }],
    ])(
      '%s whose holder is dead is seen free after one time of its own, from the first who looks',
      async (_, parts) => {
        const repaired: string[] = [];
        redis.coordinator.on('repaired', ({ name }) => repaired.push(name));
        await redis.take('team/read', { ttlMs, ...parts });
        await redis.take('group/listed', { ttlMs, ...parts });
        redis.server.stepClock(-hourMs);
        const list = () => redis.coordinator.list('group', call);
        expect(await redis.read('team/read')).toMatchObject({ state: 'held', remainingMs: ttlMs });
        expect(await list()).toMatchObject([{ state: 'held', remainingMs: ttlMs }]);
        await expect.poll(() => redis.read('team/read'), { timeout: 3 * ttlMs }).toBeUndefined();
        await expect.poll(list, { timeout: 3 * ttlMs }).toEqual([]);
        expect(repaired).toEqual(['team/read', 'group/listed']);
      },
    );

    it('a lease whose holder lives is renewed as ever', async () => {
      const plain = await redis.take('plain', { ttlMs });
      const elected = await redis.take('elected', { ttlMs, graceMs: ttlMs, keepHistory: true });
      redis.server.stepClock(-hourMs);
      expect(await redis.renew('plain', plain, ttlMs)).toBe('renewed');
      expect(await redis.renew('elected', elected, ttlMs)).toBe('renewed');
      for (const name of ['plain', 'elected']) {
        expect(await redis.read(name)).toMatchObject({ state: 'held' });
        expect(await redis.admin.pttl(redis.key('lease', name))).toBeLessThan(31 * 24 * hourMs);
      }
      expect(await redis.admin.pttl(redis.key('lease', 'plain'))).toBeLessThanOrEqual(ttlMs);
    });

    it('a lease that had ended blocks its name again, for one ttl at most', async () => {
      await redis.take('job', { ttlMs, keepHistory: true });
      await expect.poll(() => redis.read('job')).toBeUndefined();
      redis.server.stepClock(-hourMs);
      await taken('job').toMatchObject({ outcome: 'granted' });
    });

    it('a revoked lease stays revoked, and its successor has its time', async () => {
      const term = await redis.take('job', { ttlMs });
      const request = { ...operator, to: 'bob', reserveMs: ttlMs };
      await redis.coordinator.revoke('job', request, call);
      redis.server.stepClock(-hourMs);
      expect(await redis.renew('job', term)).toBe('revoked');
      const cid = Holder.create('cid', realRuntime);
      expect(await redis.acquire('job', { holder: cid })).toMatchObject({ outcome: 'held' });
      await taken('job').toMatchObject({ outcome: 'granted' });
    });

    it('a reservation blocks its name for one time of its own', async () => {
      await redis.handOff('job', await redis.take('job'), 'cid', ttlMs);
      redis.server.stepClock(-hourMs);
      expect(await redis.acquire('job', { holder: bob })).toMatchObject({ outcome: 'held' });
      await taken('job').toMatchObject({ outcome: 'granted' });
    });

    it('a request does not run after its deadline, once its client has heard of the step', async () => {
      await redis.take('job', { ttlMs });
      redis.server.stepClock(-hourMs);
      await redis.coordinator.read(['job'], call);
      const before = await serverMs();
      redis.server.freeze();
      const request = { name: 'late', holder: ann, attempt: 'a'.repeat(32), ttlMs: 60_000 };
      await expect(redis.coordinator.acquire([request], { timeoutMs: 100 })).rejects.toMatchObject({
        code: 'TENURE_OUTCOME_UNKNOWN',
      });
      redis.server.thaw();
      expect(await redis.read('late')).toBeUndefined();
      expect(before).toBeLessThan(Date.now() - hourMs + 5_000);
    });

    it('dead candidates end after one ttl, and the living keep their place', async () => {
      const enroll = async (holder: Holder, parts: Partial<EnrollRequest> = {}) => {
        const entry = { name: 'job', holder, standing: 'waiting', preference: 0 } as const;
        const whole = { ...entry, ttlMs: 60_000, ...parts };
        return (await redis.coordinator.enroll([whole], call))[0]?.position;
      };
      const ids = async () => (await redis.coordinator.candidates('job', call)).map(({ id }) => id);
      const dead = Holder.create('dead', realRuntime);
      expect(await enroll(dead, { ttlMs })).toBe(0);
      expect(await enroll(ann)).toBe(1);
      redis.server.stepClock(-hourMs);
      expect(await ids()).toEqual(['dead', 'ann']);
      expect(await enroll(bob), 'newcomers stand behind everybody').toBe(2);
      await expect.poll(ids).toEqual(['ann', 'bob']);
      expect(await enroll(ann)).toBe(0);
    });
  });
});
