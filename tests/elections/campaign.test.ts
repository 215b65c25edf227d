import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Elections } from '../../src/elections/index.js';
import { OptionError } from '../../src/errors/index.js';
import type { Emitter } from '../../src/events/index.js';
import type { LeaseEvents } from '../../src/leases/index.js';
import { untyped } from '../support/untyped.js';
import { defined, ElectionFixture, name, never, rejection, ttlMs } from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

describe('a campaign', () => {
  it('resolves with the lease when it is won, at once if nobody leads', async () => {
    const { election, log } = fixture.process('a');
    const lease = defined(await election.campaign());
    expect(election.current).toBe(lease);
    expect(log).toEqual(['elected']);
    expect(lease.metadata).toMatch(/"pid":/);
  });

  it('that nobody contests, and a short term, cost an acquisition and a release and leave nothing', async () => {
    const a = fixture.process('a');
    for (let round = 0; round < 3; round++) {
      await a.election.campaign();
      await fixture.runtime.advance(ttlMs / 20 - 1);
      await a.election.resign();
    }
    await fixture.runtime.advance(ttlMs);
    a.calls.delete('onConnectionLost');
    expect(Object.fromEntries(a.calls)).toEqual({ acquire: 3, release: 3 });
    expect(fixture.runtime.pendingTimerCount).toBe(0);
  });

  it('shows who leads to all from the first moment, and as a candidate soon', async () => {
    const a = fixture.process('a', { election: { metadata: { zone: 'a' }, preference: 3 } });
    const b = fixture.process('b');
    const lease = defined(await a.election.campaign());
    const leader = { id: 'a', digest: lease.holder.digest, standing: 'present', leads: true };
    const seen = async () => (await b.election.candidates())[0];
    expect(await seen()).toMatchObject({ ...leader, metadata: { zone: 'a' } });
    expect(await fixture.candidates()).toEqual([]);
    await fixture.runtime.advance(ttlMs / 20);
    expect(await fixture.candidates()).toEqual(['a present']);
    expect(await seen()).toMatchObject({ ...leader, preference: 3 });
    await a.election.resign();
    expect(await fixture.candidates()).toEqual([]);
  });

  it('enters the queue with its preference and metadata as soon as it has to wait, in one request', async () => {
    await fixture.process('a').election.campaign();
    const b = fixture.process('b', { election: { preference: 7, metadata: 'b' } });
    void rejection(b.election.campaign());
    await fixture.runtime.settle();
    const entry = { id: 'b', standing: 'waiting', preference: 7, metadata: 'b', leads: false };
    expect((await b.election.candidates())[0]).toMatchObject(entry);
    await fixture.runtime.advance(ttlMs / 10);
    expect(b.calls.get('enroll')).toBe(1);
  });

  it('that is won after a wait goes on in the same entry', async () => {
    const a = fixture.process('a');
    const b = fixture.process('b');
    await a.election.campaign();
    const waiting = b.election.campaign();
    await fixture.runtime.settle();
    await a.election.resign();
    await fixture.runtime.advanceUntil(waiting);
    await fixture.runtime.settle();
    expect(await fixture.candidates()).toEqual(['b present']);
    expect(b.calls.get('withdraw')).toBeUndefined();
  });

  it('asks nothing of leases that were closed in the first moment of its term', async () => {
    const a = fixture.process('a');
    await a.election.campaign();
    const closing = a.leases.close();
    await fixture.runtime.advance(ttlMs);
    await closing;
    expect(a.log).toEqual(['elected', 'resigned shutdown']);
    const b = fixture.process('b');
    const leading = rejection(b.election.lead(() => {}));
    await fixture.runtime.advance(100);
    await b.leases.close();
    await fixture.runtime.advance(ttlMs);
    expect(await leading).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(b.calls.get('enroll')).toBeUndefined();
  });

  it('waits as long as it takes, or as it is told', async () => {
    const a = fixture.process('a');
    const b = fixture.process('b');
    const lease = defined(await a.election.campaign());
    const now = () => fixture.runtime.now().monotonicMs;
    const tried = b.election.campaign({ waitMs: 0 });
    expect(await tried).toBeUndefined();
    const startedAtMs = now();
    expect(
      await fixture.runtime.advanceUntil(b.election.campaign({ waitMs: 7_000 })),
    ).toBeUndefined();
    expect(now() - startedAtMs).toBe(7_000);
    expect(await fixture.candidates()).toEqual(['a present']);
    const waiting = b.election.campaign();
    await fixture.runtime.advance(100 * ttlMs);
    await lease.release();
    await fixture.runtime.advance(100);
    expect(await waiting).toMatchObject({ state: 'held' });
    expect([a.log, b.log]).toEqual([['elected', 'resigned released'], ['elected']]);
    expect(await fixture.candidates()).toEqual(['b present']);
  });

  it('is called by preference, then in order of arrival', async () => {
    const a = fixture.process('a');
    const lease = defined(await a.election.campaign());
    const won: string[] = [];
    const ids: [string, number][] = [
      ['b', 0],
      ['c', 5],
      ['d', 5],
    ];
    for (const [id, preference] of ids) {
      const process = fixture.process(id, { election: { preference } });
      void process.election.campaign().then(() => won.push(id));
      await fixture.runtime.advance(10);
    }
    await lease.release();
    await fixture.runtime.advance(50);
    for (let round = 0; round < 2; round++) {
      await fixture.processes.find(({ election }) => election.current)?.election.resign();
      await fixture.runtime.advance(50);
    }
    expect(won).toEqual(['c', 'd', 'b']);
  });

  it('leaves nothing behind when it is aborted, at whatever moment', async () => {
    // Everything that happens in a campaign takes a number of turns; each of them is tried.
    for (let turn = 0; turn < 60; turn++) {
      const { election, leases, log } = fixture.process(`a${turn}`);
      const aborter = new AbortController();
      const campaign = election.campaign({ signal: aborter.signal });
      const outcome = campaign.then(
        (lease) => lease,
        (error: unknown) => error,
      );
      for (let step = 0; step < turn; step++) await Promise.resolve();
      aborter.abort(new Error('enough'));
      const won = await outcome;
      if (won instanceof Error) {
        expect(won.message).toBe('enough');
        expect(log.filter((line) => line === 'elected')).toEqual([]);
      } else {
        await election.resign();
      }
      await fixture.runtime.settle();
      expect(leases.live).toEqual([]);
      expect(await fixture.leader()).toBeUndefined();
      expect(await fixture.candidates()).toEqual([]);
    }
  });

  it('leaves nothing behind when it is aborted while it waits', async () => {
    await fixture.process('a').election.campaign();
    const { election } = fixture.process('b');
    for (const waitMs of [0, 1, 10, 500, 3_000, 20_000]) {
      const aborter = new AbortController();
      const error = rejection(election.campaign({ signal: aborter.signal }));
      await fixture.runtime.advance(waitMs);
      aborter.abort(new Error('enough'));
      expect(await error).toMatchObject({ message: 'enough' });
      await fixture.runtime.settle();
      expect((await fixture.candidates()).filter((one) => one !== 'a present')).toEqual([]);
    }
    const aborted = AbortSignal.abort(new Error('before'));
    expect(await rejection(election.campaign({ signal: aborted }))).toMatchObject({
      message: 'before',
    });
  });

  it('is one at a time: the second is refused, and the first goes on', async () => {
    const { election } = fixture.process('a');
    const refused = { code: 'TENURE_CAMPAIGN_UNDER_WAY', electionName: name };
    const first = election.campaign();
    expect(await rejection(election.campaign())).toMatchObject(refused);
    expect(await rejection(election.lead(() => {}))).toMatchObject(refused);
    const lease = defined(await first);
    expect(await rejection(election.campaign())).toMatchObject(refused);
    await lease.release();
    expect(await election.campaign()).toBeDefined();
  });

  it('is refused while lead is under way, whether it leads or not', async () => {
    const a = fixture.process('a');
    const b = fixture.process('b');
    for (const { election } of [a, b]) {
      rejection(election.lead(() => never(), {})).catch(() => {});
      await fixture.runtime.advance(100);
      const refused = { code: 'TENURE_CAMPAIGN_UNDER_WAY' };
      expect(await rejection(election.campaign())).toMatchObject(refused);
    }
  });

  it('ends with an error when the elections are closed, and holds nothing', async () => {
    await fixture.process('a').election.campaign();
    const b = fixture.process('b');
    const error = rejection(b.election.campaign());
    await fixture.runtime.advance(100);
    await b.elections.close();
    expect(await error).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(await rejection(b.election.campaign())).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(await fixture.candidates()).toEqual([]);
  });

  it('is followed by a release of the won lease when the elections are closed', async () => {
    const a = fixture.process('a');
    await a.election.campaign();
    await a.elections.close();
    await a.elections.close();
    expect(a.log).toEqual(['elected', 'resigned released']);
    expect(await fixture.leader()).toBeUndefined();
    expect(await fixture.candidates()).toEqual([]);
  });

  it('is told of once, whoever ends its term', async () => {
    const a = fixture.process('a');
    await defined(await a.election.campaign()).release();
    await defined(await a.election.campaign()).handoff('b', 100);
    await fixture.runtime.advance(200);
    defined(await a.election.campaign()).end('stalled');
    await fixture.runtime.advance(ttlMs);
    await a.election.campaign();
    await a.leases.close();
    expect(a.log).toEqual([
      'elected',
      'resigned released',
      'elected',
      'resigned handed-off',
      'elected',
      'lost stalled',
      'elected',
      'resigned shutdown',
    ]);
  });

  it('throws what the store answered if trying again cannot help, or the time is up', async () => {
    const a = fixture.process('a');
    fixture.store.overwriteRecord(name, 'foreign');
    const corrupt = { code: 'TENURE_RECORD_CORRUPT' };
    expect(await rejection(a.election.campaign())).toMatchObject(corrupt);
    a.link.cut();
    const error = rejection(a.election.campaign({ waitMs: 1_000 }));
    expect(await fixture.runtime.advanceUntil(error)).toMatchObject({ code: 'TENURE_UNREACHABLE' });
    expect(a.log[0]).toBe('campaignFailed TENURE_UNREACHABLE');
  });
});

describe('two live processes with one id', () => {
  it('are told, both of them, and still only one leads', async () => {
    const one = fixture.process('twin');
    const two = fixture.process('twin');
    rejection(one.election.lead(() => never())).catch(() => {});
    await fixture.runtime.advance(100);
    rejection(two.election.lead(() => never())).catch(() => {});
    await fixture.runtime.advance(2 * ttlMs);
    expect(one.log).toEqual(['elected', 'duplicate twin']);
    expect(two.log).toEqual(['duplicate twin']);
  });
});

const nullable = [
  ...['ttlMs', 'renewEveryMs', 'giveUpAfterMs', 'attemptTimeoutMs', 'eligible', 'preference'],
  ...['graceAfterLossMs', 'maxHoldMs', 'drainMs', 'firstPauseMs', 'longestPauseMs'],
];

describe('elections', () => {
  it('are one object per name, made once with its options', () => {
    const { elections, election } = fixture.process('a');
    expect(elections.election(name)).toBe(election);
    expect(elections.election('other')).not.toBe(election);
    expect(() => elections.election(name, {})).toThrow(/^options come too late for "payments"/);
  });

  it.each<[string, object]>([
    ['eligible', { eligible: 'yes' }],
    ['preference', { preference: 100 }],
    ['preference', { preference: 1.5 }],
    ['graceAfterLossMs', { graceAfterLossMs: -1 }],
    ['graceAfterLossMs', { graceAfterLossMs: 86_400_001 }],
    ['maxHoldMs', { maxHoldMs: 0 }],
    ['maxHoldMs', { maxHoldMs: 999 }],
    ['maxHoldMs', { ttlMs: 60_000, maxHoldMs: 9_999 }],
    ['drainMs', { drainMs: Number.NaN }],
    ['firstPauseMs', { firstPauseMs: 0 }],
    ['longestPauseMs', { firstPauseMs: 10, longestPauseMs: 9 }],
    ['ttlMs', { ttlMs: 50 }],
    ['renewEveryMs', { renewEveryMs: 5_000 }],
    ['metadata', { metadata: 5n }],
    ...nullable.map((option): [string, object] => [option, { [option]: null }]),
  ])('refuse a wrong %s at once, by name and with a remedy', (option, options) => {
    const { elections } = fixture.process('a');
    let error: unknown;
    try {
      elections.election('other', untyped(options));
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option, remedy: expect.stringMatching(/./) });
  });

  it('refuse wrong names, collaborators and arguments', async () => {
    const { elections, election } = fixture.process('a');
    expect(() => elections.election('a//b')).toThrow(OptionError);
    expect(() => elections.election('x', untyped(null))).toThrow(OptionError);
    expect(() => new Elections(untyped({}))).toThrow(/^leases is not a Leases/);
    expect(() => election.observe(untyped({ signal: 1 }))).toThrow(/^signal /);
    for (const call of [
      ...['5', true, {}, [], null, -1, Number.NEGATIVE_INFINITY, Number.NaN, 10n].map(
        (waitMs) => () => election.campaign(untyped({ waitMs })),
      ),
      () => election.revoke({ by: 'x', reason: 'y', reserveMs: 5 }),
      () => election.revoke({ by: 'x', reason: 'y', to: 'b', reserveMs: untyped(null) }),
      () => election.campaign(untyped(null)),
      () => election.campaign(untyped({ signal: {} })),
      () => election.lead(untyped(undefined)),
      () => election.lead(() => {}, untyped({ signal: 'stop' })),
      () => election.suspend(untyped(undefined)),
      () => election.revoke(untyped({ by: 'x' })),
    ]) {
      expect(await rejection(call())).toBeInstanceOf(OptionError);
    }
    expect(await fixture.candidates()).toEqual([]);
  });

  it('let who is not eligible only observe', async () => {
    const { election } = fixture.process('a', { election: { eligible: false } });
    for (const call of [() => election.campaign(), () => election.lead(() => {})])
      expect(await rejection(call())).toMatchObject({ option: 'eligible' });
  });

  it('are closed for good', async () => {
    const { elections } = fixture.process('a');
    await elections.close();
    expect(() => elections.election('other')).toThrow(/closed/);
  });

  it('leave no listener with the leases when they are closed', async () => {
    const { elections, leases } = fixture.process('a');
    const { listenerCount } = leases.events as Emitter<LeaseEvents>;
    const count = () =>
      (['lost', 'released', 'duplicate'] as const).map((event) =>
        listenerCount.call(leases.events, event),
      );
    expect(count().every((one) => one > 0)).toBe(true);
    await elections.close();
    expect(count()).toEqual([0, 0, 0]);
  });
});
