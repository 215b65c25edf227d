import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StopRequestedError, WorkOverdueError } from '../../src/elections/index.js';
import { OptionError } from '../../src/errors/index.js';
import { untyped } from '../support/untyped.js';
import {
  candidate,
  ElectionFixture,
  name,
  never,
  rejection,
  ttlMs,
  withoutRetries,
} from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

const drainMs = 10_000;

/** A process that leads with work that drains until `drained` is called. */
async function leader(id = 'a', options: Parameters<ElectionFixture['process']>[1] = {}) {
  const election = { drainMs, ...options.election };
  const a = candidate(fixture, id, { ...options, election });
  let drained = () => {};
  a.work.onStop = () =>
    new Promise<string>((resolve) => {
      drained = () => resolve('drained');
    });
  await fixture.runtime.advance(100);
  expect(a.log).toEqual(['elected']);
  return { ...a, drained: () => drained() };
}

async function waiter(id: string) {
  const waiting = candidate(fixture, id);
  await fixture.runtime.advance(100);
  return waiting;
}

function settled(promise: Promise<unknown>): () => boolean {
  let isSettled = false;
  const done = () => {
    isSettled = true;
  };
  promise.then(done, done);
  return () => isSettled;
}

type Leader = Awaited<ReturnType<typeof leader>>;
const ways: [string, (a: Leader) => Promise<unknown>, string][] = [
  ['resigning', (a) => a.election.resign(), 'resigned released'],
  ['handing off', (a) => a.election.handoff('b'), 'resigned handed-off'],
  [
    'being told to stop',
    (a) => {
      a.stop.abort();
      return a.leading;
    },
    'resigned released',
  ],
  ['closing', (a) => a.elections.close(), 'resigned released'],
];

describe.each(ways)('%s', (_, end, line) => {
  it('asks the work to stop, keeps renewing while it drains, and gives the name back once it has', async () => {
    const a = await leader();
    const b = await waiter('b');
    const ending = end(a);
    const isOver = settled(ending);
    await fixture.runtime.advance(drainMs - 1_000);
    expect(a.work.stopping[0]?.reason).toBeInstanceOf(StopRequestedError);
    expect(a.work.lease.state).toBe('held');
    expect([a.log, b.log, isOver()]).toEqual([['elected'], [], false]);
    const releaseCount = a.calls.get('release') ?? 0;
    a.drained();
    await fixture.runtime.advance(100);
    expect(isOver()).toBe(true);
    expect(a.log).toEqual(['elected', line]);
    expect(b.log).toEqual(['elected']);
    expect((a.calls.get('release') ?? 0) - releaseCount + (a.calls.get('handoff') ?? 0)).toBe(1);
  });

  it('keeps nobody waiting whose lease is gone', async () => {
    const a = await leader();
    a.work.lease.supersede();
    const isOver = settled(a.election.resign());
    await fixture.runtime.settle();
    expect(isOver()).toBe(true);
    a.drained();
  });

  it('ends the lease of work that does not stop, and leaves it to its ttl', async () => {
    const a = await leader();
    const b = await waiter('b');
    const isOver = settled(end(a));
    await fixture.runtime.advance(drainMs);
    expect(a.log).toEqual(['elected', 'lost shutdown', 'workOverdue']);
    expect(a.work.lease.signal.aborted).toBe(true);
    expect(b.log).toEqual([]);
    await fixture.runtime.advance(ttlMs + 250);
    expect(isOver()).toBe(true);
    expect(b.log).toEqual(['elected']);
    expect(a.log).toEqual(['elected', 'lost shutdown', 'workOverdue']);
    a.drained();
  });

  it('frees the name at once when overdue work stops after all', async () => {
    const a = await leader();
    const b = await waiter('b');
    void end(a);
    await fixture.runtime.advance(drainMs + 100);
    a.drained();
    await fixture.runtime.advance(250);
    expect(b.log).toEqual(['elected']);
  });

  it('frees the name at once, in spite of a lock-delay, when overdue work stops before its ttl is over', async () => {
    const a = await leader('a', { election: { graceAfterLossMs: 30_000 } });
    const b = await waiter('b');
    void end(a);
    await fixture.runtime.advance(drainMs + 100);
    a.drained();
    await fixture.runtime.advance(250);
    expect(b.log).toEqual(['elected']);
    const [term] = await b.election.history();
    expect(term).toMatchObject({ holderId: 'a', endReason: 'shutdown' });
  });

  it('lets the lock-delay follow a lease that it had to end, if the work stops too late', async () => {
    const a = await leader('a', { election: { graceAfterLossMs: 30_000 } });
    const b = await waiter('b');
    void end(a);
    await fixture.runtime.advance(drainMs + ttlMs);
    a.drained();
    await fixture.runtime.advance(20_000);
    expect(b.log).toEqual([]);
    await fixture.runtime.advance(11_000);
    expect(b.log).toEqual(['elected']);
  });

  it('is not held up by a store that does not answer', async () => {
    const a = await leader();
    a.link.hang();
    const isOver = settled(end(a));
    await fixture.runtime.settle();
    a.drained();
    await fixture.runtime.advance(ttlMs / 2);
    expect(isOver()).toBe(true);
    expect(withoutRetries(a.log)).toEqual(['elected', line]);
  });
});

describe('resigning', () => {
  it('does nothing and says so when this process does not lead', async () => {
    const a = fixture.process('a');
    expect(await a.election.resign()).toBe(false);
    expect(await a.election.handoff('b')).toBe(false);
    expect([...a.calls.keys()].filter((call) => /release|handoff/.test(call))).toEqual([]);
  });

  it('leaves the name to another candidate, and stays one itself', async () => {
    const a = await leader();
    const b = await waiter('b');
    const resigning = a.election.resign();
    a.drained();
    expect(await resigning).toBe(true);
    await fixture.runtime.advance(10_000);
    expect(b.log).toEqual(['elected']);
    expect(await fixture.candidates()).toEqual(['a waiting', 'b present']);
  });

  it('leads again after a moment if there is nobody else', async () => {
    const a = await leader();
    void a.election.resign();
    a.drained();
    await fixture.runtime.advance(400);
    expect(a.work.beginCount).toBe(1);
    await fixture.runtime.advance(1_000);
    expect(a.work.beginCount).toBe(2);
    a.drained();
    a.work.onStop = () => {};
  });

  it('is done once, however often it is called', async () => {
    const a = await leader();
    const releaseCount = a.calls.get('release') ?? 0;
    const all = [a.election.resign(), a.election.resign(), a.election.resign()];
    await fixture.runtime.advance(1_000);
    a.drained();
    expect(await Promise.all(all)).toEqual([true, true, true]);
    expect((a.calls.get('release') ?? 0) - releaseCount).toBe(1);
    expect(a.log).toEqual(['elected', 'resigned released']);
  });

  it('waits for the release that is under way, when it is called once more', async () => {
    const a = await leader();
    a.link.disturb('reply', 'hold', { operation: 'release' });
    const first = a.election.resign();
    a.drained();
    await fixture.runtime.advance(10);
    const second = a.election.resign();
    const isOver = settled(second);
    await fixture.runtime.advance(10);
    expect(isOver()).toBe(false);
    a.link.flush();
    expect(await Promise.all([first, second])).toEqual([true, true]);
  });

  it('answers with false as soon as the lease is lost while the work drains', async () => {
    const a = await leader();
    const resigning = a.election.resign();
    await fixture.runtime.advance(100);
    fixture.store.deleteRecord(name);
    await fixture.runtime.advance(ttlMs);
    expect(await resigning).toBe(false);
    expect(a.log).toEqual(['elected', 'lost vanished']);
    a.drained();
  });
});

describe('handing off', () => {
  it('elects the named successor, though another one waits before it', async () => {
    const a = await leader();
    const c = await waiter('c');
    const b = await waiter('b');
    const handing = a.election.handoff('b');
    a.drained();
    expect(await fixture.runtime.advanceUntil(handing)).toBe(true);
    await fixture.runtime.advance(250);
    expect([b.log, c.log]).toEqual([['elected'], []]);
  });

  it('leaves the name free again if the successor is dead', async () => {
    const a = await leader();
    const c = await waiter('c');
    const handing = a.election.handoff('dead', 2_000);
    a.drained();
    expect(await fixture.runtime.advanceUntil(handing)).toBe(true);
    await fixture.runtime.advance(1_900);
    expect(c.log).toEqual([]);
    await fixture.runtime.advance(500);
    expect(c.log).toEqual(['elected']);
  });

  it('says that it was not confirmed', async () => {
    const a = await leader();
    a.link.disturb('request', 'drop', { operation: 'handoff' });
    const handing = a.election.handoff('b');
    a.drained();
    expect(await fixture.runtime.advanceUntil(handing)).toBe(false);
    expect(a.log).toEqual(['elected', 'resigned handed-off']);
  });

  it('goes before a resignation that still drains; of two, the first stands', async () => {
    const a = await leader();
    const all = [
      a.election.resign(),
      a.election.handoff('b'),
      a.election.handoff('c'),
      a.election.handoff('b'),
      a.election.resign(),
    ];
    await fixture.runtime.settle();
    a.drained();
    expect(await Promise.all(all)).toEqual([true, true, false, true, true]);
    expect(await a.election.read()).toMatchObject({ state: 'reserved', to: 'b' });
  });

  it('to one successor twice is one handoff, confirmed to both, though the first is on its way', async () => {
    const a = await leader();
    a.link.disturb('reply', 'hold', { operation: 'handoff' });
    const first = a.election.handoff('b');
    a.drained();
    await fixture.runtime.advance(10);
    const others = [a.election.handoff('b'), a.election.handoff('c'), a.election.resign()];
    await fixture.runtime.advance(10);
    a.link.flush();
    expect(await Promise.all([first, ...others])).toEqual([true, true, false, true]);
    expect(a.calls.get('handoff')).toBe(1);
  });

  it('is not what a resignation on its way does', async () => {
    const a = await leader();
    a.link.disturb('reply', 'hold', { operation: 'release' });
    const first = a.election.resign();
    a.drained();
    await fixture.runtime.advance(10);
    const handing = a.election.handoff('b');
    await fixture.runtime.advance(10);
    a.link.flush();
    expect(await Promise.all([first, handing])).toEqual([true, false]);
  });

  it('refuses what is no id, no duration, or this process itself, and goes on leading', async () => {
    const a = await leader();
    for (const [to, reserveMs] of [
      ['', 100],
      ['b', 0],
      ['a', 100],
      ['b', untyped(null)],
      ['b', untyped('5')],
      [untyped(null), 100],
    ] as const) {
      expect(await rejection(a.election.handoff(to, reserveMs))).toBeInstanceOf(OptionError);
    }
    expect(a.work.lease.state).toBe('held');
    expect(a.work.stopping[0]?.aborted).toBe(false);
    a.work.onStop = () => {};
  });

  it.each<[string, () => Promise<boolean>]>([
    ['refuses', () => Promise.reject(new Error('refused'))],
    [
      'throws',
      () => {
        throw new Error('thrown');
      },
    ],
  ])('gives the name back whatever becomes of it: the lease %s', async (_, handoff) => {
    const a = await leader();
    a.work.lease.handoff = handoff;
    const handing = a.election.handoff('b');
    a.stop.abort();
    a.drained();
    expect(await fixture.runtime.advanceUntil(handing)).toBe(false);
    expect(await fixture.runtime.advanceUntil(a.leading)).toBe('drained');
    await fixture.runtime.advanceUntil(a.elections.close());
    expect(a.log).toEqual(['elected', 'resigned released']);
    expect(await a.election.read()).toBeUndefined();
  });
});

describe('work that blocks the event loop', () => {
  it('past its deadline and then returns is not overdue, and leaves no timer behind', async () => {
    const a = fixture.process('a', { election: { drainMs, firstPauseMs: 60_000 } });
    const leading = a.election.lead(async () => fixture.runtime.freeze(ttlMs));
    await fixture.runtime.advance(100);
    expect(a.log).toEqual(['elected', 'lost expired']);
    await fixture.runtime.advanceUntil(a.elections.close());
    await leading;
    expect(fixture.runtime.pendingTimerCount).toBe(0);
    await fixture.runtime.advance(2 * drainMs);
    expect(a.log).toEqual(['elected', 'lost expired']);
  });

  it('until long after it was told to stop, and then returns, is not overdue either', async () => {
    const a = await leader();
    a.work.onStop = () => fixture.runtime.freeze(10 * drainMs);
    a.stop.abort();
    await fixture.runtime.advance(2 * drainMs);
    await a.leading;
    expect(a.log).toEqual(['elected', 'lost expired']);
  });
});

describe('work that never stops', () => {
  it('does not keep lead waiting for ever: it rejects, and says to end the process', async () => {
    const a = fixture.process('a', { election: { drainMs } });
    const stop = new AbortController();
    const leading = a.election.lead(never, { signal: stop.signal });
    const error = rejection(leading);
    await fixture.runtime.advance(100);
    stop.abort();
    await fixture.runtime.advance(drainMs + 1_900);
    expect(a.log).toEqual(['elected', 'lost shutdown', 'workOverdue']);
    const isOver = settled(leading);
    expect(isOver()).toBe(false);
    await fixture.runtime.advance(100);
    expect(await error).toBeInstanceOf(WorkOverdueError);
    expect(await error).toMatchObject({ message: expect.stringMatching(/end this process/) });
    const next = rejection(a.election.lead(() => {}));
    expect(await next).toMatchObject({ code: 'TENURE_CAMPAIGN_UNDER_WAY' });
  });

  it('frees the name when it stops at last, though nobody waits for it any more', async () => {
    const a = await leader();
    const b = await waiter('b');
    a.stop.abort();
    await fixture.runtime.advance(drainMs + 2_100);
    expect(await rejection(a.leading)).toBeInstanceOf(WorkOverdueError);
    expect(b.log).toEqual([]);
    a.drained();
    await fixture.runtime.advance(250);
    expect(b.log).toEqual(['elected']);
  });

  it('that settles while it is given up to takes the timer along', async () => {
    const a = await leader();
    a.stop.abort();
    await fixture.runtime.advance(drainMs + 1_000);
    a.drained();
    await a.leading;
    expect(fixture.runtime.pendingTimerCount).toBe(0);
  });

  it('is given up sooner if its lease was lost long before', async () => {
    const a = fixture.process('a', { election: { drainMs } });
    const stop = new AbortController();
    const error = rejection(a.election.lead(never, { signal: stop.signal }));
    await fixture.runtime.advance(100);
    a.election.current?.supersede();
    await fixture.runtime.advance(10 * drainMs);
    stop.abort();
    await fixture.runtime.advance(2_000);
    expect(await error).toBeInstanceOf(WorkOverdueError);
    expect(a.log).toEqual(['elected', 'lost superseded', 'workOverdue']);
  });

  it('does not keep close waiting for ever either, and close never rejects', async () => {
    const a = fixture.process('a', { election: { drainMs } });
    const error = rejection(a.election.lead(never));
    await fixture.runtime.advance(100);
    const closing = Promise.all([a.elections.close(), a.elections.close()]);
    await fixture.runtime.advanceUntil(closing);
    expect(await error).toBeInstanceOf(WorkOverdueError);
  });
});
