import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { act, defined, ElectionFixture, type Process, TestWork, ttlMs } from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

function lead(process: Process): TestWork {
  const work = new TestWork();
  process.election.lead(work.run).catch(() => {});
  return work;
}

async function fleet(...ids: string[]): Promise<Process[]> {
  const processes: Process[] = [];
  for (const id of ids) {
    const process = fixture.process(id);
    lead(process);
    processes.push(process);
    await fixture.runtime.advance(100);
  }
  return processes;
}

describe('the kill switch', () => {
  it('ends the present term and lets nobody lead until it is taken back', async () => {
    const [a, b, operator] = (await fleet('a', 'b')).concat(fixture.process('operator'));
    expect(await operator?.election.suspend(act)).toMatchObject({ state: 'suspended' });
    await fixture.runtime.advance(10 * ttlMs);
    expect(a?.log).toEqual(['elected', 'lost revoked']);
    expect(b?.log).toEqual([]);
    expect(await operator?.election.read()).toMatchObject({ suspension: act, ending: undefined });
    expect(await operator?.election.resume(act)).toBe(true);
    expect(await operator?.election.resume(act)).toBe(false);
    await fixture.runtime.advance(500);
    expect(
      [...defined(a).log, ...defined(b).log].filter((line) => line === 'elected'),
    ).toHaveLength(2);
  });

  it('holds against processes that come up later', async () => {
    await fixture.process('operator').election.suspend(act);
    const [a] = await fleet('a');
    await fixture.runtime.advance(10 * ttlMs);
    expect(a?.log).toEqual([]);
  });
});

describe('revoking', () => {
  it('ends the term, and the one who had it does not snatch it back', async () => {
    const [a, b, operator] = (await fleet('a', 'b')).concat(fixture.process('operator'));
    const term = a?.election.current?.term ?? 0;
    expect(await operator?.election.revoke({ ...act, term: term + 1 })).toMatchObject({
      term,
      revocation: undefined,
    });
    expect(a?.log).toEqual(['elected']);
    await operator?.election.revoke({ ...act, term });
    await fixture.runtime.advance(ttlMs / 3 + 250);
    expect(a?.log).toEqual(['elected', 'lost revoked']);
    expect(b?.log).toEqual(['elected']);
  });

  it('names a successor that is elected though another one waits before it', async () => {
    const [a, b, c, operator] = (await fleet('a', 'b', 'c')).concat(fixture.process('operator'));
    await operator?.election.revoke({ ...act, to: 'c' });
    await fixture.runtime.advance(ttlMs / 3 + 250);
    expect([a?.log, b?.log, c?.log]).toEqual([['elected', 'lost revoked'], [], ['elected']]);
  });

  it('does nothing when nobody leads', async () => {
    expect(await fixture.process('operator').election.revoke(act)).toBeUndefined();
  });
});

describe('what operators see', () => {
  it('is the candidates in their order, with who of them leads', async () => {
    const observer = fixture.process('o', {
      election: { eligible: false, metadata: { zone: 'a' } },
    });
    const states = observer.election.observe();
    await fixture.runtime.advanceUntil(states.next());
    await fleet('c', 'b', 'a');
    const candidates = await observer.election.candidates();
    expect(candidates.map(({ id, standing, leads }) => [id, standing, leads])).toEqual([
      ['b', 'waiting', false],
      ['a', 'waiting', false],
      ['c', 'present', true],
      ['o', 'observing', false],
    ]);
    expect(candidates[3]?.metadata).toEqual({ zone: 'a' });
    expect(candidates[0]?.metadata).toMatchObject({ pid: process.pid });
    await states.return?.();
  });

  it('is the history, with how long nobody led before each term', async () => {
    const [a, b] = (await fleet('a', 'b')) as [Process, Process];
    await fixture.runtime.advance(1_000);
    a.crash();
    await fixture.runtime.advance(ttlMs + 500);
    await b.election.resign();
    await b.election.suspend(act);
    const history = await b.election.history();
    const [first, second, third] = history;
    expect(first).toMatchObject({ holderId: 'a', endReason: 'expired', vacantMs: undefined });
    expect(second).toMatchObject({ holderId: 'b', endReason: 'released' });
    expect(second?.kind === 'term' && second.vacantMs).toBeGreaterThanOrEqual(0);
    expect(second?.kind === 'term' && second.vacantMs).toBeLessThan(250);
    expect(third).toMatchObject({ kind: 'act', act: 'suspend', by: 'operator', reason: 'test' });
  });
});
