import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { calledCount, type EnrollRequest, Holder } from '../../src/coordinators/index.js';
import { realRuntime } from '../../src/time/index.js';
import { ann, bob, call, operator, RedisFixture, tag } from './redis-fixture.js';

const corrupt = { code: 'TENURE_RECORD_CORRUPT' };

describe('the Redis coordinator', () => {
  const redis = new RedisFixture();
  const table = redis.key('cand', 'job');
  const queue = redis.key('queue', 'job');

  const enroll = async (holder: Holder, parts: Partial<EnrollRequest> = {}) => {
    const entry = {
      name: 'job',
      holder,
      standing: 'waiting',
      preference: 0,
      ttlMs: 60_000,
    } as const;
    const [result] = await redis.coordinator.enroll([{ ...entry, ...parts }], call);
    return result ?? expect.fail('a batch of one has one result');
  };
  const many = (count: number, id: string) =>
    Array.from({ length: count }, (_, index) => Holder.create(`${id}-${index}`, realRuntime));

  /** Every message on any channel of the namespace while `act` runs. */
  const heard = async (act: () => Promise<unknown>): Promise<[string, string][]> => {
    const listener = redis.admin.duplicate();
    const messages: [string, string][] = [];
    listener.on('pmessage', (_, channel: string, message: string) =>
      messages.push([channel.slice(tag.length), message]),
    );
    await listener.psubscribe(`${tag}*`);
    await act();
    await listener.punsubscribe();
    listener.disconnect();
    return messages;
  };
  const calls = (messages: readonly [string, string][]) =>
    messages.filter(([channel]) => channel.startsWith(':call:'));

  describe('keeps candidates', () => {
    it('in the documented form, by digest, and never the nonce', async () => {
      await enroll(ann, { preference: 7, metadata: '"|"' });
      await enroll(bob, { standing: 'observing' });
      const fields = await redis.admin.hgetall(table);
      const entry = /^1\|ann\|waiting\|7\|(\d{13})\|(\d{13})\|60000\|"\|"$/;
      expect(fields[`d:${ann.digest}`]).toMatch(entry);
      expect(fields['i:ann']).toBe(ann.digest);
      const [, since] = entry.exec(fields[`d:${ann.digest}`] ?? '') ?? [];
      expect(await redis.admin.zrange(queue, '0', '-1', 'WITHSCORES')).toEqual([
        ann.digest,
        String(92 * 1e13 + Number(since)),
      ]);
      const nonce = ann.wire.slice('ann:'.length);
      expect(JSON.stringify(await redis.coordinator.candidates('job', call))).not.toContain(nonce);
      expect(JSON.stringify(fields)).not.toContain(nonce);
    });

    it('no longer than the longest of them, and nothing of those who withdrew', async () => {
      await enroll(ann, { ttlMs: 5_000 });
      await enroll(bob, { ttlMs: 2_000 });
      for (const key of [table, queue]) {
        expect(await redis.admin.pttl(key)).toBeGreaterThan(3_000);
        expect(await redis.admin.pttl(key)).toBeLessThanOrEqual(5_000);
      }
      await redis.admin.persist(queue);
      await enroll(ann, { ttlMs: 5_000 });
      expect(await redis.admin.pttl(queue)).toBeLessThanOrEqual(5_000);
      for (const holder of [ann, bob])
        await redis.coordinator.withdraw([{ name: 'job', holder }], call);
      expect(await redis.admin.keys('*')).toEqual([]);
    });

    it('free of the dead, a few with each enrollment: restarts for ever fill no store', async () => {
      for (const dead of many(60, 'dead')) await enroll(dead, { ttlMs: 100, standing: 'present' });
      for (const dead of many(60, 'dead')) await enroll(dead, { ttlMs: 100 });
      // Without its own TTL the table would be gone with the last of them.
      await enroll(ann);
      await expect
        .poll(async () => {
          for (let round = 0; round < 20; round++) await enroll(ann);
          return redis.admin.hlen(table);
        })
        .toBe(2);
      expect(await redis.admin.zrange(queue, '0', '-1')).toEqual([ann.digest]);
    });

    it('in the order in which they came, within one millisecond too', async () => {
      const holders = many(200, 'waiter');
      const entry = { standing: 'waiting', preference: 0, ttlMs: 60_000 } as const;
      await Promise.all(
        holders.map((holder) =>
          redis.coordinator.enroll([{ name: 'job', holder, ...entry }], call),
        ),
      );
      const candidates = await redis.coordinator.candidates('job', call);
      expect(candidates.map(({ id }) => id)).toEqual(holders.map(({ id }) => id));
    });

    it('in their place when they come to prefer the name more or less', async () => {
      const [first, second, third] = many(3, 'waiter') as [Holder, Holder, Holder];
      for (const holder of [first, second, third]) await enroll(holder);
      expect((await enroll(third, { preference: 1 })).position).toBe(0);
      expect((await enroll(first, { preference: 1 })).position).toBe(0);
      expect((await enroll(first)).position).toBe(1);
      expect((await enroll(third)).position).toBe(2);
    });
  });

  describe('calls', () => {
    it('with one message for each of the first three, and one wake, however many wait', async () => {
      const waiters = many(500, 'waiter');
      for (const holder of waiters) await enroll(holder);
      const term = await redis.take('job');
      const messages = await heard(() => redis.release('job', term));
      expect(messages).toEqual([
        [':wake:', 'job'],
        ...waiters
          .slice(0, calledCount)
          .map((holder, position) => [`:call:${holder.digest}`, `${position}|job`]),
      ]);
    });

    it('nobody, and looks for nobody, at a release for which nobody waits', async () => {
      const term = await redis.take('job');
      await redis.coordinator.read(['job'], call);
      await redis.admin.config('RESETSTAT');
      expect(await heard(() => redis.release('job', term))).toEqual([[':wake:', 'job']]);
      const stats = await redis.admin.info('commandstats');
      const asked = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
        .map(([, command, count]) => `${command} ${count}`)
        .filter(
          (line) =>
            !/^(config|info|eval|time|p?u?n?subscribe|psubscribe|client|quit|hello|select)/.test(
              line,
            ),
        );
      expect(asked.sort()).toEqual(
        ['del 1', 'exists 2', 'get 1', 'pttl 1', 'publish 1', 'zrange 1', 'zrem 1'].sort(),
      );
    });

    it('past more dead waiters than it looks at in one step, with the next release', async () => {
      for (const dead of many(40, 'dead')) await enroll(dead, { ttlMs: 100, preference: 99 });
      await enroll(ann);
      await expect.poll(() => redis.coordinator.candidates('job', call)).toHaveLength(1);
      const rounds = [1, 2, 3];
      const messages = [];
      for (const _ of rounds) {
        const term = await redis.take('job');
        messages.push(...calls(await heard(() => redis.release('job', term))));
      }
      expect(messages.length).toBeGreaterThan(0);
      expect(messages[0]).toEqual([`:call:${ann.digest}`, '0|job']);
    });

    it('the successor alone to a name that is reserved when it is resumed', async () => {
      await enroll(ann, { preference: 99 });
      await enroll(bob);
      await redis.handOff('job', await redis.take('job'), 'bob', 60_000);
      await redis.coordinator.suspend('job', operator, call);
      const messages = await heard(() => redis.coordinator.resume('job', operator, call));
      expect(calls(messages)).toEqual([[`:call:${bob.digest}`, '0|job']]);
    });

    it('nobody to a name whose revoked term has not ended when it is resumed', async () => {
      await enroll(bob);
      await redis.take('job');
      await redis.coordinator.suspend('job', operator, call);
      const messages = await heard(() => redis.coordinator.resume('job', operator, call));
      expect(calls(messages)).toEqual([]);
    });

    it('only those who understand it: what is no call of ours calls nobody', async () => {
      const heardCalls: unknown[] = [];
      let isListening = () => {};
      const listening = new Promise<void>((resolve) => {
        isListening = resolve;
      });
      redis.coordinator.onCalled(ann, (one) => {
        if (one.name === undefined) isListening();
        else heardCalls.push(one);
      });
      await listening;
      const channel = `${tag}:call:${ann.digest}`;
      for (const message of ['', 'job', '|job', '-1|job', '0|', '1|a|b']) {
        await redis.admin.publish(channel, message);
      }
      await expect.poll(() => heardCalls).toEqual([{ position: 1, name: 'a|b' }]);
    });

    it.each([
      ['onCalled', (listener: () => unknown) => redis.coordinator.onCalled(ann, listener)],
      ['watch', (listener: () => unknown) => redis.coordinator.watch('', listener)],
    ])(
      'a listener of %s that is async and rejects, and that is a warning',
      async (name, listen) => {
        const warned = once(process, 'warning');
        const stop = listen(() => Promise.reject(new Error('a bug')));
        const [warning] = (await warned) as [Error];
        stop();
        expect(warning.message).toContain(`a listener for "${name}" failed: Error: a bug, at `);
      },
    );
  });

  describe('leaves alone what is not its own:', () => {
    it.each([
      ['queue', queue],
      ['table of candidates', table],
    ])('a %s of another type: no candidates, but leases as ever', async (_, key) => {
      await redis.admin.set(key, 'x');
      await expect(enroll(ann)).rejects.toMatchObject(corrupt);
      await expect(redis.coordinator.candidates('job', call)).rejects.toMatchObject(corrupt);
      await redis.coordinator.withdraw([{ name: 'job', holder: ann }], call);
      const term = await redis.take('job');
      expect(await redis.release('job', term)).toBe('ended');
      expect(await redis.admin.keys('*cand*')).toEqual(key === table ? [table] : []);
      expect(await redis.admin.get(key)).toBe('x');
    });

    it('an entry that is none', async () => {
      await redis.admin.hset(table, `d:${bob.digest}`, '2|bob', 'other', 'x');
      await redis.admin.zadd(queue, 0, bob.digest);
      expect((await enroll(ann)).position).toBe(0);
      const candidates = await redis.coordinator.candidates('job', call);
      expect(candidates.map(({ id }) => id)).toEqual(['ann']);
    });
  });
});
