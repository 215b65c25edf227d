import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Leadership } from '../../src/elections/index.js';
import {
  act,
  defined,
  ElectionFixture,
  name,
  never,
  type Process,
  rejection,
  ttlMs,
} from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

/** Reads everything an observer is told, as short lines. */
function observe({ election }: Process, signal?: AbortSignal): string[] {
  const seen: string[] = [];
  const read = async () => {
    for await (const leadership of election.observe(signal && { signal }))
      seen.push(show(leadership));
    seen.push('end');
  };
  read().catch((error: unknown) => seen.push(String((error as { code?: string }).code)));
  return seen;
}

function show(leadership: Leadership): string {
  switch (leadership.state) {
    case 'led':
      return `${leadership.holderId} leads`;
    case 'nobody':
      return leadership.because;
    case 'unsure':
      return `unsure: ${leadership.because}`;
  }
}

function lead({ election }: Process): AbortController {
  const stop = new AbortController();
  const work = (_: unknown, { stopping }: { stopping: AbortSignal }) =>
    new Promise<void>((resolve) => stopping.addEventListener('abort', () => resolve()));
  election.lead(work, { signal: stop.signal }).catch(() => {});
  return stop;
}

describe('observing', () => {
  it('tells who leads at once when that changes, and says no state twice', async () => {
    const [a, b, o] = ['a', 'b', 'o'].map((id) => fixture.process(id)) as [
      Process,
      Process,
      Process,
    ];
    const seen = observe(o);
    await fixture.runtime.advance(100);
    const stop = lead(a);
    await fixture.runtime.advance(100);
    lead(b);
    await fixture.runtime.advance(10 * ttlMs);
    expect(seen).toEqual(['free', 'a leads']);
    stop.abort();
    await fixture.runtime.advance(100);
    expect(seen.filter((line) => line !== 'free')).toEqual(['a leads', 'b leads']);
  });

  it('tells of a crash when the lease has run out, and of the next leader', async () => {
    const [a, b, o] = ['a', 'b', 'o'].map((id) => fixture.process(id)) as [
      Process,
      Process,
      Process,
    ];
    lead(a);
    await fixture.runtime.advance(100);
    lead(b);
    const seen = observe(o);
    await fixture.runtime.advance(1_000);
    a.crash();
    await fixture.runtime.advance(ttlMs + 500);
    expect(seen[0]).toBe('a leads');
    expect(seen.at(-1)).toBe('b leads');
    expect(seen.slice(1, -1).every((line) => /free|unsure: outdated/.test(line))).toBe(true);
  });

  it('finds out by itself when every wake is lost', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    o.link.disturb('reply', 'drop', { operation: 'watch' });
    const seen = observe(o);
    await fixture.runtime.advance(100);
    lead(a);
    await fixture.runtime.advance(ttlMs / 3);
    expect(seen).toEqual(['free', 'a leads']);
  });

  it('says why nobody leads', async () => {
    const a = fixture.process('a', { election: { graceAfterLossMs: 10_000 } });
    const seen = observe(fixture.process('o'));
    await fixture.runtime.advance(100);
    const lease = defined(await a.election.campaign());
    await fixture.runtime.advance(100);
    await lease.handoff('b', 1_000);
    await fixture.runtime.advance(1_500);
    await a.election.suspend(act);
    await fixture.runtime.advance(ttlMs / 3);
    await a.election.resume(act);
    await fixture.runtime.advance(100);
    await a.election.campaign();
    a.crash();
    await fixture.runtime.advance(ttlMs + 500);
    expect(seen.filter((line) => !line.startsWith('unsure'))).toEqual([
      'free',
      'a leads',
      'reserved',
      'free',
      'suspended',
      'free',
      'a leads',
      'lock-delay',
    ]);
  });

  it('says that something foreign stands there, not that the store is unreachable', async () => {
    fixture.store.overwriteRecord(name, 'somebody else wrote this');
    const seen = observe(fixture.process('o'));
    await fixture.runtime.advance(100);
    expect(seen).toEqual(['unsure: corrupt']);
  });

  it('tells a suspension with who did it and why, and whom it may still have to stop', async () => {
    const a = fixture.process('a');
    lead(a);
    await fixture.runtime.advance(100);
    await a.election.suspend(act);
    const states = a.election.observe();
    const { value } = await states.next();
    expect(value).toMatchObject({
      state: 'nobody',
      because: 'suspended',
      suspension: act,
      ending: { holderId: 'a' },
    });
    await states.return?.();
  });

  it('tells that a revoked term has ended when its ttl is over, though nobody wakes it', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    lead(a);
    await fixture.runtime.advance(100);
    a.crash();
    await o.election.suspend(act);
    o.link.disturb('reply', 'drop', { operation: 'watch' });
    const states = o.election.observe();
    await fixture.runtime.advanceUntil(states.next());
    const next = fixture.runtime.advanceUntil(states.next(), ttlMs);
    expect((await next).value).toMatchObject({ because: 'suspended', ending: undefined });
    expect(fixture.runtime.now().monotonicMs).toBeLessThan(100 + ttlMs + 30);
    await states.return?.();
  });

  it('is unsure when the store does not answer, but not before what it knows has run out', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    const seen = observe(o);
    await fixture.runtime.advance(100);
    o.link.hang();
    await fixture.runtime.advance(ttlMs);
    expect(seen).toEqual(['free', 'unsure: unreachable']);
    o.link.heal();
    lead(a);
    await fixture.runtime.advance(ttlMs);
    o.link.cut();
    await fixture.runtime.advance(ttlMs / 2);
    expect(seen.slice(2)).toEqual(['a leads']);
    await fixture.runtime.advance(ttlMs / 2);
    expect(seen.slice(3)).toEqual(['unsure: unreachable']);
    o.link.heal();
    await fixture.runtime.advance(ttlMs);
    expect(seen.slice(4)).toEqual(['a leads']);
  });

  it('is unsure in the moment in which what it knows runs out', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    lead(a);
    await fixture.runtime.advance(100);
    const seen = observe(o);
    await fixture.runtime.advance(100);
    a.crash();
    o.link.cut();
    const record = defined(await fixture.process('p').election.read());
    const remainingMs = record.state === 'held' ? record.remainingMs : 0;
    await fixture.runtime.advance(remainingMs - 1);
    expect(seen).toEqual(['a leads']);
    await fixture.runtime.advance(1);
    expect(seen).toEqual(['a leads', 'unsure: unreachable']);
  });

  it('does not tell what another observer knew who has left before', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    for await (const { state } of o.election.observe()) {
      expect(state).toBe('nobody');
      break;
    }
    await a.election.campaign();
    const states = o.election.observe();
    expect((await states.next()).value).toMatchObject({ state: 'led' });
    await states.return?.();
  });

  it('does not tell what it knew before a freeze', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    lead(a);
    await fixture.runtime.advance(100);
    const states = o.election.observe();
    const first = await fixture.runtime.advanceUntil(states.next());
    expect(first.value).toMatchObject({ state: 'led' });
    o.freeze();
    await fixture.runtime.advance(10 * ttlMs);
    const next = states.next();
    o.runtime.resume();
    expect((await next).value).toMatchObject({ state: 'unsure', last: { holderId: 'a' } });
    o.thaw();
    await states.return?.();
  });

  it('never tells a lower term than before, though the store has forgotten higher ones', async () => {
    const a = fixture.process('a');
    const o = fixture.process('o');
    await a.leases.acquire(name, { above: Date.UTC(2030, 0, 1), keepHistory: true });
    const terms: number[] = [];
    const seen: string[] = [];
    const aborter = new AbortController();
    const reading = (async () => {
      for await (const leadership of o.election.observe({ signal: aborter.signal })) {
        seen.push(show(leadership));
        if (leadership.state === 'led') terms.push(leadership.term);
      }
    })();
    await fixture.runtime.advance(100);
    fixture.store.restart({ keepData: false });
    const b = fixture.process('b');
    await b.election.campaign();
    await fixture.runtime.advance(ttlMs);
    expect(seen.at(-1)).toBe('unsure: term-fell');
    expect(terms).toHaveLength(1);
    aborter.abort();
    await reading;
  });
});

describe('an observer', () => {
  it('leaves nothing behind when it ends, however it ends', async () => {
    const o = fixture.process('o', { election: { eligible: false } });
    const idle = o.runtime.pendingTimerCount;
    const aborter = new AbortController();
    const aborted = observe(o, aborter.signal);
    const states = o.election.observe();
    const pending = states.next().then(() => states.next());
    await fixture.runtime.advance(100);
    expect(await fixture.candidates()).toEqual(['o observing']);
    for await (const _ of o.election.observe()) break;
    aborter.abort();
    await fixture.runtime.settle();
    expect(aborted).toEqual(['free', 'end']);
    expect(o.runtime.pendingTimerCount).toBeGreaterThan(idle);
    await states.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await states.next()).toEqual({ done: true, value: undefined });
    await fixture.runtime.advance(100);
    expect(o.runtime.pendingTimerCount).toBe(idle);
    expect(await fixture.candidates()).toEqual([]);
    const reads = o.calls.get('read');
    await fixture.runtime.advance(10 * ttlMs);
    expect(o.calls.get('read')).toBe(reads);
  });

  it('sets nothing up before it is asked for the first state, nor when it is aborted before', async () => {
    const o = fixture.process('o');
    o.election.observe();
    const aborted = o.election.observe({ signal: AbortSignal.abort() });
    expect(await aborted.next()).toEqual({ done: true, value: undefined });
    await fixture.runtime.advance(ttlMs);
    expect([o.calls.get('watch'), o.calls.get('read')]).toEqual([undefined, undefined]);
  });

  it('shares one reader with all others of its process', async () => {
    const o = fixture.process('o');
    const all = Array.from({ length: 100 }, () => observe(o));
    await fixture.runtime.advance(100);
    expect(o.calls.get('read')).toBe(1);
    expect(o.calls.get('watch')).toBe(1);
    lead(fixture.process('a'));
    await fixture.runtime.advance(100);
    expect(all.every((seen) => seen.join() === 'free,a leads')).toBe(true);
    expect(o.calls.get('read')).toBeLessThanOrEqual(3);
  });

  it('that is slow gets the newest state, not every one in between', async () => {
    const a = fixture.process('a');
    const states = fixture.process('o').election.observe();
    await fixture.runtime.advanceUntil(states.next());
    for (let turn = 0; turn < 5; turn++) {
      const lease = defined(await a.election.campaign());
      await fixture.runtime.advance(100);
      await lease.release();
      await fixture.runtime.advance(100);
    }
    const lease = defined(await a.election.campaign());
    await fixture.runtime.advance(100);
    expect((await states.next()).value).toMatchObject({ state: 'led', term: lease.term });
    await states.return?.();
  });

  it('may ask again before it was answered, and gets one state for each question', async () => {
    const a = fixture.process('a');
    const states = fixture.process('o').election.observe();
    const answers = [states.next(), states.next(), states.next()];
    await fixture.runtime.advance(100);
    await a.election.campaign();
    await fixture.runtime.advance(100);
    expect((await answers[0])?.value).toMatchObject({ because: 'free' });
    expect((await answers[1])?.value).toMatchObject({ state: 'led' });
    await states.return?.();
    expect(await answers[2]).toMatchObject({ done: true });
  });

  it('leaves nothing behind when it cannot even begin, because the leases are closed', async () => {
    const o = fixture.process('o', { election: { eligible: false } });
    let watchCount = 0;
    const { watch } = o.coordinator;
    Object.assign(o.coordinator, {
      watch: (...input: Parameters<typeof watch>) => {
        watchCount += 1;
        const unwatch = watch.apply(o.coordinator, input);
        return () => {
          watchCount -= 1;
          unwatch();
        };
      },
    });
    await o.leases.close();
    expect(await rejection(o.election.observe().next())).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(watchCount).toBe(0);
  });

  it('ends when the elections are closed, and with an error when the coordinator is', async () => {
    const o = fixture.process('o');
    const p = fixture.process('p');
    const [ended, failed] = [observe(o), observe(p)];
    await fixture.runtime.advance(100);
    await o.elections.close();
    await p.coordinator.close();
    await fixture.runtime.advance(ttlMs);
    expect(ended).toEqual(['free', 'end']);
    expect(failed.at(-1)).toBe('TENURE_CLOSED');
    expect(await rejection(p.election.observe().next())).toMatchObject({ code: 'TENURE_CLOSED' });
    await rejection(p.election.lead(() => never()));
  });
});
