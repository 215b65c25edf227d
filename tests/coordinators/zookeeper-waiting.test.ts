import { describe, expect, it } from 'vitest';
import type { Call } from '../../src/index.js';
import type { FaultProxy } from '../support/proxy.js';
import { until } from '../support/until.js';
import { call, type Process, pause, useZooKeeper } from './zookeeper-fixture.js';

const ttlMs = 700;
const longTtlMs = 20_000;

const onServer = useZooKeeper('jobs/nightly');
const { newName, paths, start } = onServer;

describe('waiting', () => {
  it('is not in vain when the session of the holder ends: the first who wait are called, with nobody polling', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.take(job, ttlMs);
    const calls: Call[] = [];
    bob.client.onCalled(bob.holder, (told) => calls.push(told));
    const entry = { name: job, holder: bob.holder, standing: 'waiting', preference: 0 } as const;
    await bob.client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    await pause(100);
    await ann.vanish();
    await until('a call', () => calls.some((told) => told.name === job));
    expect(calls).toContainEqual({ name: job, position: 0 });
  });

  it('costs one watch each: however many wait, three watch the name, and the others the one before them', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const waiters = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((one) => start(`waiter-${one}`)));
    await ann.take(job, longTtlMs);
    for (const { client, holder } of waiters) {
      client.onCalled(holder, () => {});
      const entry = { name: job, holder, standing: 'waiting', preference: 0 } as const;
      await client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    }
    // Those in front hear of the next thing that happens to the name, and know then who is in front now.
    await ann.client.suspend(job, { by: 'ops', reason: 'to see who looks' }, call);
    await pause(200);
    expect((await onServer.server.watches()).get(paths.name(job))).toBe(3);
    const asked = waiters.map(({ proxy }) => countRequests(proxy));
    await ann.client.resume(job, { by: 'ops', reason: 'to see who looks' }, call);
    await pause(300);
    expect(asked.map(({ count }) => count > 0)).toEqual([
      ...[true, true, true],
      ...[false, false, false, false],
    ]);
    // The one before the fourth goes, and with it the place: it comes up.
    const [, , third] = waiters;
    await third?.client.withdraw([{ name: job, holder: third.holder }], call);
    await until('the fourth to come up', () => (asked[3]?.count ?? 0) > 0);
    expect(asked.slice(4).map(({ count }) => count)).toEqual([0, 0, 0]);
  });

  it('is not in vain for who was not there when it was looked, and has entered again further back', async () => {
    const [job, ann, late] = [newName(), await start('ann'), await start('late')];
    const term = await ann.take(job, longTtlMs);
    const enter = ({ client, holder }: Process, lastsMs: number) =>
      client.enroll(
        [{ name: job, holder, standing: 'waiting', preference: 0, ttlMs: lastsMs }],
        call,
      );
    await enter(late, ttlMs);
    await until('the end of the entry', async () => {
      return (await ann.client.candidates(job, call)).length === 0;
    });
    const others = await Promise.all([1, 2, 3, 4].map((one) => start(`waiter-${one}`)));
    for (const other of others) await enter(other, longTtlMs);
    const calls: Call[] = [];
    late.client.onCalled(late.holder, (told) => calls.push(told));
    await pause(300);
    await enter(late, longTtlMs);
    await pause(300);
    for (const { client, holder } of others) await client.withdraw([{ name: job, holder }], call);
    await ann.release(job, term);
    await until('a call', () => calls.some((told) => told.name === job));
  });

  it('is found by a handoff wherever the successor stands', async () => {
    const [job, ann] = [newName(), await start('ann')];
    const term = await ann.take(job, longTtlMs);
    const waiters = await Promise.all([1, 2, 3, 4, 5].map((one) => start(`waiter-${one}`)));
    const heard: string[] = [];
    for (const { client, holder } of waiters) {
      client.onCalled(holder, () => heard.push(holder.id));
      const entry = { name: job, holder, standing: 'waiting', preference: 0 } as const;
      await client.enroll([{ ...entry, ttlMs: longTtlMs }], call);
    }
    await pause(150);
    const handoff = { name: job, holder: ann.holder, term, to: 'waiter-5', reserveMs: longTtlMs };
    await ann.client.handoff([handoff], call);
    await until('a call of the successor', () => heard.length > 0);
    expect(heard).toEqual(['waiter-5']);
  });
});

/** Counts the requests from now on, pings left out. */
function countRequests(proxy: FaultProxy): { count: number } {
  const seen = { count: 0 };
  proxy.up.set({
    kind: 'judge',
    fateOf: (bytes) => {
      if (bytes.length !== 12 || bytes.readInt32BE(8) !== 11) seen.count += 1;
      return 'none';
    },
  });
  return seen;
}
