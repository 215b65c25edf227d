import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Elections } from '../../src/elections/index.js';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { altered } from '../support/altered.js';
import { candidate, ElectionFixture, rejection, TestWork, ttlMs } from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

/** A candidate whom the store does not let in while `isLockedOut`, and not into the queue unless it `mayEnroll`. */
function passwordHolder(id: string) {
  const { coordinator, link, runtime } = fixture.process(id);
  const { acquire, renew, read, enroll } = coordinator;
  const door = { isLockedOut: false, mayEnroll: true };
  const guarded =
    <Input extends unknown[], Output>(
      act: (...input: Input) => Promise<Output>,
      isShut = () => door.isLockedOut,
    ) =>
    (...input: Input) =>
      isShut()
        ? Promise.reject<Output>(new StoreMisconfiguredError('wrong password'))
        : act.apply(coordinator, input);
  const locked = altered(coordinator, {
    ...{ acquire: guarded(acquire), renew: guarded(renew), read: guarded(read) },
    enroll: guarded(enroll, () => door.isLockedOut || !door.mayEnroll),
  });
  const leases = new Leases(locked, { id, runtime, ttlMs });
  const elections = new Elections(leases);
  const election = elections.election('payments');
  const failures: unknown[] = [];
  election.events.on('campaignFailed', ({ error }) => failures.push(error));
  const work = new TestWork();
  const stop = new AbortController();
  const leading = election.lead(work.run, { signal: stop.signal });
  leading.catch(() => {});
  const leave = async () => {
    stop.abort();
    await fixture.runtime.advanceUntil(leading.catch(() => {}));
    await fixture.runtime.advanceUntil(elections.close());
    await fixture.runtime.advanceUntil(leases.close());
  };
  return { door, link, failures, work, leading, leave, election };
}

async function besideALeader() {
  const leader = candidate(fixture, 'leader');
  await fixture.runtime.advance(100);
  return { leader, standby: passwordHolder('standby') };
}

describe('a password that is changed', () => {
  it('does not end who stands by, though it has never led: it tells, and is elected when it is let in again', async () => {
    const { runtime } = fixture;
    const { leader, standby } = await besideALeader();
    await runtime.advance(ttlMs);
    standby.door.isLockedOut = true;
    leader.stop.abort();
    await runtime.advance(10 * ttlMs);
    expect(standby.failures.length).toBeGreaterThan(0);
    for (const error of standby.failures) expect(error).toBeInstanceOf(StoreMisconfiguredError);
    expect(standby.work.beginCount).toBe(0);
    standby.door.isLockedOut = false;
    // The longest pause of a campaign.
    await runtime.advance(60_000);
    expect(standby.work.beginCount).toBe(1);
    await standby.leave();
  });

  it('does not end who found nobody at its first try and was let in later', async () => {
    const { runtime } = fixture;
    const { standby } = await besideALeader();
    standby.link.cut();
    await runtime.advance(ttlMs);
    standby.link.heal();
    await runtime.advance(2 * ttlMs);
    standby.failures.length = 0;
    standby.door.isLockedOut = true;
    await runtime.advance(10 * ttlMs);
    expect(standby.failures).toContainEqual(expect.any(StoreMisconfiguredError));
    standby.door.isLockedOut = false;
    await standby.leave();
  });

  it("is the caller's at the start, also when the store could not be reached before", async () => {
    const { runtime } = fixture;
    const { standby } = await besideALeader();
    standby.link.cut();
    await runtime.advance(ttlMs);
    expect(standby.failures).not.toContainEqual(expect.any(StoreMisconfiguredError));
    standby.door.isLockedOut = true;
    standby.link.heal();
    const error = await rejection(runtime.advanceUntil(standby.leading));
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    standby.door.isLockedOut = false;
    await standby.leave();
  });

  it("is the caller's at the start, also of somebody who may ask for the name and not stand in its queue", async () => {
    const { runtime } = fixture;
    const { standby } = await besideALeader();
    standby.door.mayEnroll = false;
    const error = await rejection(runtime.advanceUntil(standby.leading));
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    standby.door.mayEnroll = true;
    await standby.leave();
  });
});
