import { describe, expect, it } from 'vitest';
import { StoreRefusedError } from '../../src/errors/index.js';
import { act, call, longMs, type QuorumActor, RedisQuorumFixture } from './redis-quorum-fixture.js';

const fixture = new RedisQuorumFixture({ clock: true });

/** A bare majority knows of it: the first three. */
function amongThree<T>(actor: QuorumActor, action: () => Promise<T>): Promise<T> {
  return fixture.unheardBy([3, 4], actor, action);
}

/** Node 2 forgets everything, and gets it back from the others. */
async function loseAndReseed(actor: QuorumActor, lose: () => Promise<unknown>): Promise<void> {
  const reseeded = actor.reseeded();
  await lose();
  await actor.client.read(['whatever'], call);
  expect(await reseeded).toContain(`:${fixture.nodes[2]?.port}`);
}

const losses = {
  'was flushed': () => fixture.admins[2]?.flushall() as Promise<unknown>,
  'was restarted without its data': () =>
    fixture.nodes[2]?.restart({ keepData: false }) as Promise<unknown>,
};

describe.each(Object.entries(losses))('a node of a bare majority that %s', (_, lose) => {
  it('lets no second holder in, neither while it is out nor when it is back', async () => {
    const ann = await fixture.actor('ann');
    const bob = await fixture.actor('bob');
    const outs: string[] = [];
    bob.client.on('node-out', ({ reason }) => outs.push(reason));
    const term = await amongThree(ann, () => ann.take('job'));
    const reseeded = bob.reseeded();
    await lose();
    expect(await bob.isKeptOut('job')).toBe('held');
    await reseeded;
    expect(outs).toEqual(['it lost its memory']);
    // Now only the node that had forgotten it can know.
    fixture.freeze(0, 1);
    const answer = await bob.acquire('job').catch((error: Error) => error);
    expect(answer).not.toMatchObject({ outcome: 'granted' });
    fixture.thaw(0, 1);
    expect(await ann.renew('job', term)).toBe('renewed');
  });

  it('lets no term fall', async () => {
    const ann = await fixture.actor('ann');
    // Far above every clock, so that memory alone tells.
    const above = Date.now() + 1_000_000_000;
    const term = await amongThree(ann, async () => {
      const granted = await ann.take('job', { above });
      await ann.release('job', granted);
      return granted;
    });
    await loseAndReseed(ann, lose);
    fixture.freeze(0, 1);
    expect(await ann.take('job')).toBeGreaterThan(term);
  });

  it('keeps suspensions, documents and history', async () => {
    const ann = await fixture.actor('ann');
    await amongThree(ann, async () => {
      await ann.take('job', { keepHistory: true });
      await ann.client.suspend('stopped', act, call);
      await ann.client.writeDocument('pins', 'one', 0, call);
    });
    await loseAndReseed(ann, lose);
    fixture.freeze(0, 1);
    expect(await ann.isKeptOut('stopped')).toBe('suspended');
    expect(await ann.client.readDocument('pins', call)).toEqual({ version: 1, text: 'one' });
    const history = await ann.client.history('job', call);
    expect(history.map((line) => line.kind === 'term' && line.holderId)).toEqual(['ann']);
  });
});

describe('a majority that lost its memory', () => {
  const options = { largestTtlMs: 1_000 };

  it('grants nothing until whatever it had granted is over, and then higher terms', async () => {
    const ann = await fixture.actor('ann', options);
    const term = await ann.take('job', { ttlMs: 1_000 });
    await ann.client.suspend('stopped', act, call);
    for (const number of [0, 1, 2]) await fixture.admins[number]?.flushall();
    const lostAtMs = performance.now();
    const bob = fixture.client(options);
    const request = () => ann.request('job', { ttlMs: 1_000 });
    await expect(bob.acquire([request()], call)).rejects.toThrow(StoreRefusedError);
    await expect(ann.renew('job', term, 1_000)).rejects.toThrow(/lost their memory/);
    const next = await expect
      .poll(() => bob.acquire([request()], call).catch(() => []), {
        timeout: 10_000,
        interval: 100,
      })
      .toMatchObject([{ outcome: 'granted' }])
      .then(async () => (await bob.read(['job'], call))[0]);
    expect(performance.now() - lostAtMs).toBeGreaterThan(2 * options.largestTtlMs);
    expect(next?.state === 'held' && next.term).toBeGreaterThan(term);
    const [stopped] = await bob.read(['stopped'], call);
    expect(stopped?.state).toBe('suspended');
  });

  it('is a new quorum at once if no node remembers anything, with higher terms', async () => {
    const ann = await fixture.actor('ann');
    const term = await ann.take('job');
    for (const admin of fixture.admins) await admin.flushall();
    const bob = await fixture.actor('bob');
    expect(await bob.take('job')).toBeGreaterThan(term);
    expect(await ann.renew('job', term)).toBe('superseded');
  });
});

describe('a wall clock', () => {
  it.each([3_600_000, -3_600_000])(
    'of one node that was stepped by %i ms costs its vote at most',
    async (stepMs) => {
      const ann = await fixture.actor('ann');
      const bob = await fixture.actor('bob');
      const term = await ann.take('job');
      fixture.nodes[1]?.stepClock(stepMs);
      expect(await bob.isKeptOut('job')).toBe('held');
      expect(await ann.renew('job', term)).toBe('renewed');
      await ann.release('job', term);
      const next = await bob.take('job', { ttlMs: 1_000 });
      expect(next).toBeGreaterThan(term);
      // It ends in its time, whatever that node thinks.
      await expect.poll(async () => (await ann.client.read(['job'], call))[0]).toBeUndefined();
      expect(await ann.take('job')).toBeGreaterThan(next);
    },
  );

  it('of a client means nothing', async () => {
    const { realRuntime } = await import('../../src/time/index.js');
    const yearMs = 365 * 24 * 3_600_000;
    const runtime = {
      ...realRuntime,
      now: () => {
        const now = realRuntime.now();
        return { ...now, wallMs: now.wallMs + yearMs };
      },
    };
    const ann = await fixture.actor('ann', { runtime });
    const bob = await fixture.actor('bob');
    const term = await ann.take('job', { ttlMs: longMs });
    expect(Math.abs(term - Date.now())).toBeLessThan(60_000);
    expect(await bob.isKeptOut('job')).toBe('held');
    const record = (await bob.client.read(['job'], call))[0];
    expect(record?.state === 'held' && record.grantedAtMs - Date.now()).toBeLessThan(60_000);
  });
});
