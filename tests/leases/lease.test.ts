import { afterEach, describe, expect, it, vi } from 'vitest';
import { OptionError } from '../../src/errors/index.js';
import { LeaseEndedError, LeaseNotHeldError } from '../../src/leases/index.js';
import { createFixture, defined } from './fixture.js';

afterEach(() => vi.restoreAllMocks());

async function heldLease() {
  const fixture = createFixture();
  const owner = fixture.process('owner');
  const rival = fixture.process('rival');
  const lease = defined(await owner.leases.acquire('payments'));
  return { ...fixture, owner, rival, lease };
}

describe('a lease', () => {
  it('is held for as long as it is renewed, in one term', async () => {
    const { runtime, rival, lease, owner } = await heldLease();
    await runtime.advance(3_600_000);
    expect(lease.state).toBe('held');
    expect(await rival.leases.acquire('payments')).toBeUndefined();
    expect(owner.log).toEqual(['acquired payments']);
  });

  it('is renewed every third of the ttl', async () => {
    const { runtime, owner } = await heldLease();
    const sent: number[] = [];
    owner.leases.events.on('renewal', () => sent.push(runtime.now().monotonicMs));
    await runtime.advance(31_000);
    expect(sent).toEqual([10_000, 20_000, 30_000]);
  });

  it('survives one swallowed renewal: uncertain meanwhile, held again after the next', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.disturb('reply', 'drop', { operation: 'renew', count: 1 });
    await runtime.advance(14_000);
    expect(lease.state).toBe('held');
    expect(owner.log).toEqual([
      'acquired payments',
      'uncertain payments renewal-failed',
      'recovered payments',
    ]);
  });

  it('counts its deadline from when a renewal was sent, not from its reply', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.disturb('reply', 'hold', { operation: 'renew', count: 1 });
    await runtime.advance(12_000);
    owner.link.hang();
    owner.link.flush();
    await runtime.advance(17_999);
    expect(lease.endReason).toBeUndefined();
    await runtime.advance(1);
    expect(lease.state).toBe('lost');
  });

  it('is uncertain from the first failed renewal: nothing new may begin, running work is not aborted', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.cut();
    await runtime.advance(10_001);
    expect(lease.state).toBe('uncertain');
    expect(() => lease.assertHeld()).toThrow(LeaseNotHeldError);
    expect(lease.signal.aborted).toBe(false);
  });

  it('is lost two thirds of the ttl after the last renewal that succeeded was sent, while the store still keeps it', async () => {
    const { runtime, owner, rival, lease } = await heldLease();
    await runtime.advance(10_000);
    owner.link.hang();
    const { signal } = lease;
    await runtime.advance(19_999);
    expect(signal.aborted).toBe(false);
    await runtime.advance(1);
    expect(signal.reason).toMatchObject({
      code: 'TENURE_LEASE_ENDED',
      reason: 'unreachable',
      term: lease.term,
    });
    expect(await rival.leases.acquire('payments')).toBeUndefined();
    await runtime.advance(10_000);
    expect(await rival.leases.acquire('payments')).toBeDefined();
  });

  it('is seen as lost by the first statement after a freeze, before any timer or reply', async () => {
    const { runtime, lease, owner } = await heldLease();
    runtime.freeze(60_000);
    expect(lease.state).toBe('lost');
    expect(lease.endReason).toBe('expired');
    expect(lease.remainingMs).toBe(0);
    expect(lease.signal.aborted).toBe(true);
    expect(() => lease.assertHeld()).toThrow(/expired|deadline/);
    expect(owner.log).toEqual(['acquired payments', 'lost payments expired']);
  });

  it('is seen as lost after a suspend that the monotonic clock did not notice', async () => {
    const { runtime, lease } = await heldLease();
    runtime.suspend(25_000);
    expect(lease.state).toBe('lost');
  });

  it('is renewed once, and not without end, after a suspend in which the monotonic clock stood still', async () => {
    const { runtime, owner, lease } = await heldLease();
    let renewals = 0;
    owner.leases.events.on('renewal', () => {
      renewals += 1;
    });
    runtime.suspend(15_000);
    lease.metadata = '{}';
    await runtime.advance(1);
    expect(lease.state).toBe('held');
    expect(renewals).toBe(1);
    expect(lease.remainingMs).toBeGreaterThan(19_000);
  });

  it.each([3_600_000, -3_600_000])(
    'asks for a renewal at once when the wall clock steps by %d ms, and keeps its term',
    async (stepMs) => {
      const { runtime, lease, owner } = await heldLease();
      await runtime.advance(1_000);
      runtime.stepWall(stepMs);
      expect(lease.state).toBe('uncertain');
      await runtime.advance(1);
      expect(lease.state).toBe('held');
      expect(owner.log).toEqual([
        'acquired payments',
        'uncertain payments clock-stepped',
        'recovered payments',
      ]);
    },
  );

  it('is lost for good: a renewal that succeeds late changes nothing and is undone', async () => {
    const { runtime, store, owner, rival, lease } = await heldLease();
    owner.link.disturb('reply', 'hold', { operation: 'renew' });
    await runtime.advance(20_000);
    expect(lease.state).toBe('lost');
    owner.link.heal();
    owner.link.flush();
    await runtime.advance(1);
    expect(lease.state).toBe('lost');
    await runtime.advance(10_000);
    expect(store.records.get('payments')).toBeUndefined();
    expect(await rival.leases.acquire('payments')).toBeDefined();
  });

  it('that lost its record is over at the next renewal, and is not written again', async () => {
    const { runtime, store, lease } = await heldLease();
    store.deleteRecord('payments');
    await runtime.advance(10_001);
    expect(lease.endReason).toBe('vanished');
    expect(store.records.get('payments')).toBeUndefined();
  });

  it('whose record somebody overwrote is superseded, and the text is left alone', async () => {
    const { runtime, store, lease } = await heldLease();
    store.overwriteRecord('payments', 'hello');
    await runtime.advance(10_001);
    expect(lease.endReason).toBe('superseded');
    await runtime.advance(60_000);
    expect(store.foreignText('payments')).toBe('hello');
  });

  it('asks for another renewal when something happens while it is uncertain already', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.disturb('reply', 'hold', { operation: 'renew', count: 2 });
    await runtime.advance(10_100);
    for (const answeredAtMs of [10_200, 10_300]) {
      runtime.stepWall(3_600_000);
      expect(lease.state).toBe('uncertain');
      await runtime.advance(answeredAtMs - runtime.now().monotonicMs);
      owner.link.flush();
      await runtime.advance(10);
    }
    await runtime.advance(100);
    expect(lease.state).toBe('held');
  });

  it('refuses metadata that no store would take, and keeps what it had', async () => {
    const { runtime, owner, lease } = await heldLease();
    lease.metadata = '{"zone":"a"}';
    for (const bad of ['no json', `"${'x'.repeat(5_000)}"`, undefined as unknown as string]) {
      expect(() => {
        lease.metadata = bad;
      }).toThrow(OptionError);
    }
    await runtime.advance(30_000);
    expect(lease.state).toBe('held');
    expect(await owner.leases.read('payments')).toMatchObject({ metadata: '{"zone":"a"}' });
  });

  it('becomes uncertain and is renewed at once when its connection is lost', async () => {
    const { runtime, store, lease, owner } = await heldLease();
    await runtime.advance(1_000);
    store.restart({ keepData: true });
    await runtime.advance(1);
    expect(owner.log).toEqual([
      'acquired payments',
      'uncertain payments connection-lost',
      'recovered payments',
    ]);
    expect(lease.state).toBe('held');
  });
});

describe('ending a lease', () => {
  it('release frees the name at once, aborts the signal and keeps the reason', async () => {
    const { rival, lease, owner } = await heldLease();
    const { signal } = lease;
    await lease.release();
    expect(lease.state).toBe('released');
    expect(signal.reason).toBeInstanceOf(LeaseEndedError);
    expect(signal.reason).toMatchObject({ reason: 'released' });
    expect(await rival.leases.acquire('payments')).toBeDefined();
    expect(owner.log).toEqual(['acquired payments', 'released payments released']);
  });

  it('release happens once, however often it is asked for', async () => {
    const { runtime, rival, lease } = await heldLease();
    await Promise.all([lease.release(), lease.release()]);
    const next = defined(await rival.leases.acquire('payments'));
    await lease.release();
    await lease[Symbol.asyncDispose]();
    await runtime.advance(1_000);
    expect(next.state).toBe('held');
    expect(await rival.leases.read('payments')).toMatchObject({ term: next.term });
  });

  it('release does not wait for a store that hangs longer than one request may take, and does not throw', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.hang();
    const startedAtMs = runtime.now().monotonicMs;
    await runtime.advanceUntil(lease.release());
    expect(runtime.now().monotonicMs - startedAtMs).toBeLessThanOrEqual(5_000);
  });

  it('release of a lost lease returns at once and lets the next owner in before the ttl is over', async () => {
    const { runtime, owner, rival, lease } = await heldLease();
    owner.link.disturb('request', 'drop', { operation: 'renew' });
    await runtime.advance(20_000);
    expect(lease.state).toBe('lost');
    await lease.release();
    await runtime.settle();
    expect(await rival.leases.acquire('payments')).toBeDefined();
  });

  it('a renewal under way while releasing does not bring the lease back', async () => {
    const { runtime, owner, lease } = await heldLease();
    owner.link.disturb('request', 'hold', { operation: 'renew', count: 1 });
    await runtime.advance(10_001);
    await lease.release();
    owner.link.flush();
    await runtime.advance(100);
    expect(lease.state).toBe('released');
    expect(await owner.leases.read('payments')).toBeUndefined();
  });

  it('handoff reserves the name for the successor, which gets a higher term', async () => {
    const { owner, rival, lease, process } = await heldLease();
    expect(await lease.handoff('rival')).toBe(true);
    expect(owner.log.at(-1)).toBe('released payments handed-off');
    expect(await process('third').leases.acquire('payments')).toBeUndefined();
    expect(defined(await rival.leases.acquire('payments')).term).toBeGreaterThan(lease.term);
    expect(await lease.handoff('third')).toBe(false);
  });

  it.each<[string, number | undefined]>([
    ['bad id!', undefined],
    ['', undefined],
    ['rival', 0.5],
    ['rival', Number.NaN],
  ])('handoff to %j for %d ms is refused, and the lease goes on', async (to, reserveMs) => {
    const { owner, lease } = await heldLease();
    await expect(lease.handoff(to, reserveMs)).rejects.toBeInstanceOf(OptionError);
    await expect(owner.leases.handoffMany([{ lease, to }], reserveMs)).rejects.toBeInstanceOf(
      OptionError,
    );
    expect(lease.state).toBe('held');
    expect(await lease.handoff('rival')).toBe(true);
  });

  it('supersede ends the term at once: a fence has seen a newer one', async () => {
    const { lease, owner } = await heldLease();
    lease.supersede();
    expect(lease.endReason).toBe('superseded');
    expect(owner.log).toEqual(['acquired payments', 'lost payments superseded']);
  });

  it('close gives everything back and leaves no timer', async () => {
    const { runtime, owner, rival, lease } = await heldLease();
    await owner.leases.acquireMany(['a', 'b', 'c']);
    await owner.leases.close();
    expect(lease.endReason).toBe('shutdown');
    expect(await rival.leases.acquireMany(['a', 'b', 'c', 'payments'])).toMatchObject(
      Array.from({ length: 4 }, () => ({ outcome: 'granted' })),
    );
    await rival.leases.close();
    expect(runtime.pendingTimerCount).toBe(0);
    await expect(owner.leases.acquire('a')).rejects.toMatchObject({ code: 'TENURE_CLOSED' });
  });

  it('close leaves the record of a lost lease to expire, since its work may still be stopping', async () => {
    const { runtime, owner, rival, lease } = await heldLease();
    owner.link.disturb('request', 'drop', { operation: 'renew' });
    await runtime.advance(20_000);
    expect(lease.state).toBe('lost');
    await owner.leases.close();
    expect(runtime.pendingTimerCount).toBe(0);
    expect(await rival.leases.acquire('payments')).toBeUndefined();
    await runtime.advance(10_000);
    expect(await rival.leases.acquire('payments')).toBeDefined();
  });

  it('tells state before events: a listener that looks sees the end, and the signal has aborted', async () => {
    const { owner, lease } = await heldLease();
    const { signal } = lease;
    const seen: unknown[] = [];
    owner.leases.events.on('lost', () => seen.push(lease.state, signal.aborted));
    lease.end('revoked');
    lease.end('revoked');
    expect(seen).toEqual(['lost', true]);
  });

  it('a listener that throws harms neither the lease nor the other listeners', async () => {
    const { owner, lease } = await heldLease();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    let told = false;
    owner.leases.events.on('lost', () => {
      throw new Error('broken logger');
    });
    owner.leases.events.on('lost', () => {
      told = true;
    });
    lease.end('revoked');
    expect(told).toBe(true);
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe('a holder', () => {
  it('never shows its nonce when printed, serialised or inspected', async () => {
    const { lease } = await heldLease();
    const nonce = lease.holder.wire.split(':')[1] ?? '';
    const { inspect } = await import('node:util');
    for (const text of [
      `${lease.holder}`,
      JSON.stringify(lease.holder),
      inspect(lease, { depth: 9 }),
    ]) {
      expect(text).not.toContain(nonce);
    }
  });
});
