import { describe, expect, it } from 'vitest';
import { call } from '../support/call.js';
import { defined } from './fixture.js';
import { QueueFixture } from './queue-fixture.js';

const name = 'payments';
const ttlMs = 6_000;
const renewEveryMs = ttlMs / 3;
const act = { by: 'operator', reason: 'test' };

async function revokedLease(graceAfterLossMs = 0) {
  const fixture = new QueueFixture();
  const owner = fixture.process('owner', { ttlMs });
  const options = { graceAfterLossMs, keepHistory: true };
  const lease = defined(await owner.leases.acquire(name, options));
  await fixture.operator.revoke(name, { ...act, to: 'successor', reserveMs: ttlMs }, call);
  return { fixture, runtime: fixture.runtime, owner, lease };
}

describe('a lease that an operator has ended', () => {
  it('is lost at the next renewal, with that reason', async () => {
    const { runtime, owner, lease } = await revokedLease();
    const lost: string[] = [];
    owner.leases.events.on('lost', ({ reason }) => lost.push(reason));
    await runtime.advance(renewEveryMs - 1);
    expect(lease.state).toBe('held');
    await runtime.advance(1);
    expect(lease.signal.reason).toMatchObject({ reason: 'revoked' });
    expect(lost).toEqual(['revoked']);
  });

  it.each([0, 4_000])(
    'goes to whom the operator named as soon as its work has stopped (lock-delay %d ms)',
    async (graceAfterLossMs) => {
      const { fixture, runtime, lease } = await revokedLease(graceAfterLossMs);
      await runtime.advance(renewEveryMs);
      expect(await fixture.ownerOf(name)).toBe('owner');
      await lease.release();
      await runtime.settle();
      expect(await fixture.read(name)).toMatchObject({ state: 'reserved', to: 'successor' });
      const [term] = await fixture.operator.history(name, call);
      expect(term).toMatchObject({ endReason: 'revoked' });
    },
  );

  it('is let go when its ttl is over, if its work never says that it has stopped', async () => {
    const { fixture, runtime } = await revokedLease();
    await runtime.advance(ttlMs);
    expect(await fixture.read(name)).toMatchObject({ state: 'reserved', to: 'successor' });
  });

  it('is not let go before its lock-delay, if its work never says that it has stopped', async () => {
    const { fixture, runtime, owner, lease } = await revokedLease(4_000);
    owner.link.disturb('request', 'hold', { operation: 'release' });
    await runtime.advance(ttlMs + 1);
    expect(lease.endReason).toBe('revoked');
    expect(await fixture.read(name)).toMatchObject({ state: 'lock-delay' });
    // Nothing was said that might have arrived a moment before the expiry.
    expect(owner.link.flush()).toBe(0);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('cannot be handed to anybody else, and goes to whom the operator named', async () => {
    const { fixture, lease } = await revokedLease();
    expect(await lease.handoff('friend')).toBe(false);
    expect(await fixture.read(name)).toMatchObject({ state: 'reserved', to: 'successor' });
  });

  it('is given up before the leases are closed, also if that is found out by a handoff', async () => {
    const { fixture, runtime, owner, lease } = await revokedLease();
    owner.link.disturb('reply', 'hold', { operation: 'handoff' });
    const handoff = lease.handoff('friend');
    await runtime.settle();
    const closing = owner.leases.close();
    owner.link.disturb('request', 'hold', { operation: 'release', count: 1 });
    owner.link.flush();
    let isClosed = false;
    void closing.then(() => {
      isClosed = true;
    });
    await runtime.settle();
    expect(isClosed).toBe(false);
    owner.link.flush();
    await runtime.advanceUntil(closing);
    expect(await handoff).toBe(false);
    expect(await fixture.read(name)).toMatchObject({ state: 'reserved', to: 'successor' });
  });
});
