import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { StaleTermError } from '../../src/errors/index.js';
import type { FencingToken } from '../../src/fences/index.js';
import { type MemoryFence, memoryFence } from '../../src/fences/memory/index.js';
import { LeaseEndedError } from '../../src/leases/index.js';
import { defined, ElectionFixture, name, type Process, ttlMs } from '../elections/fixture.js';

let fixture: ElectionFixture;
let fence: MemoryFence;
let a: Process;

beforeEach(() => {
  fixture = new ElectionFixture();
  fence = memoryFence();
  a = fixture.process('a');
});

afterEach(async () => await fixture.close());

/** A term of somebody else, far above what the store grants. */
async function claimAbove(term: number): Promise<number> {
  const installedTerm = term + 1_000_000_000;
  const holder = Holder.create('other', fixture.runtime);
  await fence.claim({ name, term: installedTerm, holder });
  return installedTerm;
}

const leased = async () => defined(await a.leases.acquire(name));

describe('a lease whose term a fence refuses', () => {
  const writes: Record<string, (token: FencingToken) => Promise<unknown>> = {
    'a claim': (token) => fence.claim(token),
    'a transaction': (token) => fence.transaction(token, async () => {}),
    'a check': (token) => fence.resource.transaction((open) => fence.check(open, token)),
  };

  it.each(Object.keys(writes))('ends at once as superseded, by %s', async (step) => {
    const lease = await leased();
    const { signal } = lease;
    const installedTerm = await claimAbove(lease.term);
    const refusal = writes[step]?.(lease);
    await expect(refusal).rejects.toBeInstanceOf(StaleTermError);
    expect(lease.state).toBe('lost');
    expect(lease.endReason).toBe('superseded');
    expect(lease.installedTerm).toBe(installedTerm);
    expect(signal.reason).toBeInstanceOf(LeaseEndedError);
    expect(signal.reason).toMatchObject({ reason: 'superseded', term: lease.term });
  });

  it('ends although the work swallows the refusal, and before the work goes on', async () => {
    const lease = await leased();
    await claimAbove(lease.term);
    const seen: unknown[] = [];
    await fence.resource
      .transaction(async (open) => {
        await fence.check(open, lease).catch(() => seen.push(lease.signal.aborted));
      })
      .catch(() => seen.push('not committed'));
    expect(seen).toEqual([true, 'not committed']);
  });

  it('ends when its transaction is overtaken between check and commit', async () => {
    const lease = await leased();
    const write = fence.transaction(lease, async () => void (await claimAbove(lease.term)));
    await expect(write).rejects.toBeInstanceOf(StaleTermError);
    expect(lease.endReason).toBe('superseded');
  });

  it('is renewed no more', async () => {
    const lease = await leased();
    await fixture.runtime.advance(ttlMs);
    const renewed = a.calls.get('renew');
    expect(renewed).toBeGreaterThan(0);
    await claimAbove(lease.term);
    await expect(fence.claim(lease)).rejects.toBeInstanceOf(StaleTermError);
    await fixture.runtime.advance(10 * ttlMs);
    expect(a.calls.get('renew')).toBe(renewed);
  });

  it('goes on while what is refused is a plain token, or a copy of it', async () => {
    const lease = await leased();
    await claimAbove(lease.term);
    const { term, holder } = lease;
    await expect(fence.claim({ name, term, holder })).rejects.toBeInstanceOf(StaleTermError);
    expect(lease.state).toBe('held');
  });

  it('keeps the reason of an end that came before', async () => {
    const lease = await leased();
    lease.end('revoked');
    await claimAbove(lease.term);
    await expect(fence.claim(lease)).rejects.toBeInstanceOf(StaleTermError);
    expect([lease.endReason, lease.installedTerm]).toEqual(['revoked', undefined]);
  });

  it('is followed by one above the term in the way, if it is acquired so', async () => {
    const lease = await leased();
    const above = await claimAbove(lease.term);
    await expect(fence.claim(lease)).rejects.toBeInstanceOf(StaleTermError);
    await lease.release();
    const next = defined(await a.leases.acquire(name, { above: defined(lease.installedTerm) }));
    expect(next.term).toBeGreaterThan(above);
    await fence.claim(next);
    expect(lease.term).toBeLessThan(above);
  });
});

describe('an election whose fence has seen a higher term than its store grants', () => {
  const stop = new AbortController();

  it.each([
    ['throws the refusal', (error: unknown) => Promise.reject(error)],
    ['throws something else', () => Promise.reject(new Error('could not save'))],
    ['swallows it', () => Promise.resolve()],
  ])('heals upward if its work %s', async (_what, answer) => {
    const terms: number[] = [];
    const healed: unknown[] = [];
    a.election.events.on('termHealed', (event) => healed.push(event));
    const above = await claimAbove(fixture.runtime.now().wallMs);
    const leading = a.election.lead(
      async (lease, { stopping }) => {
        terms.push(lease.term);
        try {
          await fence.claim(lease);
        } catch (error) {
          expect(stopping.aborted).toBe(true);
          return await answer(error);
        }
        await new Promise((resolve) => stopping.addEventListener('abort', resolve));
      },
      { signal: stop.signal },
    );
    await fixture.runtime.advance(2 * ttlMs);
    expect(terms).toHaveLength(2);
    expect(terms[1]).toBe(above + 1);
    expect(healed).toMatchObject([{ above, term: above + 1 }]);
    expect(a.election.current?.term).toBe(above + 1);
    expect(a.log.slice(0, 2)).toEqual(['elected', 'lost superseded']);
    await fixture.runtime.advanceUntil(a.close());
    await leading;
  });
});
