import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { sayDiagnosis } from '../../src/cli/diagnose/say-diagnosis.js';
import { judge } from '../../src/diagnosis/diagnose.js';
import { mergeEvidence, parseEvidenceDocument } from '../../src/elections/evidence/document.js';
import { MemoryResource, memoryFence } from '../../src/fences/memory/index.js';
import { fencedFetch } from '../../src/http.js';
import { diagnose, Leases, readEvidence, realRuntime } from '../../src/index.js';
import { memoryCoordinator } from '../../src/memory.js';
import { redisCoordinator } from '../../src/redis.js';
import { Pen, type PenOptions } from '../../src/schedule/leader/pen.js';
import { defined, ElectionFixture, name, TestWork } from '../elections/fixture.js';
import { call } from '../support/call.js';
import { loss, refusals, startMs, term } from './facts.js';
import { diagnosedWhen, freshNamespace } from './leader.js';
import { LeaderProcess } from './leader-process.js';

const screen = { style: (_format: unknown, text: string) => text, noteColumns: 80 };

describe('who is refused by a fence', () => {
  let fixture: ElectionFixture;
  beforeEach(() => {
    fixture = new ElectionFixture();
  });
  afterEach(() => fixture.close());

  const counted = async () =>
    (await readEvidence(fixture.operator, name, call)).filter(({ kind }) => kind === 'refusals');

  /** One that led, froze, and does not know that its successor has claimed the resource. */
  async function zombie() {
    const { runtime } = fixture;
    const resource = new MemoryResource();
    const [a, b] = [fixture.process('a'), fixture.process('b')];
    const work = new TestWork();
    const fence = memoryFence(resource);
    void a.election.lead(work.run);
    await runtime.advance(5_000);
    await fence.claim(work.lease);
    a.freeze();
    void b.election.lead(async (lease, context) => {
      await fence.claim(lease);
      await new TestWork().run(lease, context);
    });
    await runtime.advance(9_000);
    a.thaw();
    const write = () => fence.transaction(work.lease, async () => {}).catch(({ code }) => code);
    return { a, write, lease: work.lease };
  }

  it('keeps how often it was, also after its term is over: the first at once, what follows gathered', async () => {
    const { runtime } = fixture;
    const { a, write, lease } = await zombie();
    expect(await write()).toBe('TENURE_STALE_TERM');
    const firstAtMs = a.runtime.now().wallMs;
    await runtime.advance(100);
    const told = { kind: 'refusals', holderId: 'a', term: lease.term, resource: 'memory' };
    expect(await counted()).toEqual([{ ...told, name, count: 1, firstAtMs, atMs: firstAtMs }]);
    const writes = a.calls.get('writeDocument') ?? 0;
    for (let count = 0; count < 50; count++) await write();
    await runtime.advance(9_000);
    expect(await counted()).toMatchObject([{ count: 1 }]);
    await runtime.advance(1_000);
    expect(await counted()).toMatchObject([{ ...told, count: 51, firstAtMs }]);
    expect((a.calls.get('writeDocument') ?? 0) - writes).toBe(1);
  });

  it('tells what it has counted when it closes, and leaves no timer', async () => {
    const { runtime } = fixture;
    const { a, write } = await zombie();
    for (let count = 0; count < 3; count++) await write();
    await runtime.advanceUntil(a.elections.close());
    expect(await counted()).toMatchObject([{ count: 3 }]);
    await write();
    await fixture.close();
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('is not mistaken for one that lost its store: the fence says what it saw, and no name of another election', async () => {
    const { runtime } = fixture;
    const { a, write } = await zombie();
    const fence = memoryFence(new MemoryResource());
    const other = defined(await runtime.advanceUntil(a.leases.acquire('other')));
    await fence.claim({ ...other, name: 'other', term: other.term + 1, holder: other.holder });
    await expect(fence.claim(other)).rejects.toThrow();
    await write();
    await runtime.advance(100);
    expect(await readEvidence(fixture.operator, 'other', call)).toEqual([]);
    const diagnosis = await diagnose({ coordinator: fixture.operator, name, runtime });
    expect(diagnosis.findings[0]).toMatchObject({ cause: 'process-paused', refusedCount: 1 });
    expect(diagnosis.period).toMatchObject({ refusedCount: 1, lostCount: 1 });
  });
});

describe('what is refused elsewhere than at a fence of this library', () => {
  it('is told by the lease all the same: by a service over HTTP, and by a store of jobs', async () => {
    const leases = new Leases(memoryCoordinator());
    const told: string[] = [];
    leases.events.on('refused', ({ resource }) => told.push(resource));
    const lease = defined(await leases.acquire('ledger'));
    const body = {
      type: 'urn:tenure:fencing:stale-term',
      term: lease.term,
      installedTerm: lease.term,
    };
    const headers = { 'content-type': 'application/problem+json' };
    const answer = async () => new Response(JSON.stringify(body), { status: 409, headers });
    await expect(fencedFetch(lease, answer)('http://ledger.example')).rejects.toThrow();
    const pen = new Pen({ lease, runtime: realRuntime, callTimeoutMs: 1, ttlMs: 1 } as PenOptions);
    pen.refused(lease.term + 1);
    lease.supersede();
    expect(told).toEqual(['http', 'jobs']);
    await leases.close();
  });
});

describe('what was refused', () => {
  const nowMs = startMs + 600_000;
  const history = [term(1, 0, 30), term(2, 38, 60, 'released'), term(3, 60, undefined)];
  const judged = (...evidence: Parameters<typeof mergeEvidence>[0][number][]) =>
    judge({
      source: { name, history, evidence },
      sinceMs: startMs + 30_000,
      beforeMs: 30_000,
      nowMs,
    });

  it('is counted of the cause that ended its term, and of the time in which it was', () => {
    const {
      findings,
      period,
      refusals: told,
      timeline,
      comparison,
    } = judged(loss(1), refusals(1, 41, 7), refusals(1, 45, 2, { resource: 'jobs' }));
    expect(findings).toMatchObject([
      { cause: 'network', endingCount: 1, vacantMs: 10_000, refusedCount: 9 },
      { cause: 'deploy', refusedCount: 0 },
    ]);
    expect(period).toMatchObject({ refusedCount: 9, vacantMs: 8_000, longestVacantMs: 8_000 });
    expect(comparison?.before).toMatchObject({ refusedCount: 0, vacantMs: 2_000 });
    expect(told.map(({ resource, count }) => [resource, count])).toEqual([
      ['jobs', 2],
      ['memory', 7],
    ]);
    expect(timeline.map(({ refusedCount }) => refusedCount)).toEqual([9, ...Array(11).fill(0)]);
  });

  it('is said beside the time without a leader, and of each cause', () => {
    const lines = sayDiagnosis(judged(loss(1), refusals(1, 41, 7)), screen);
    expect(lines).toContain('  without leader   8 s (1 %), at most 8 s at a time');
    expect(lines).toContain('  writes refused   7 at memory, last 2026-11-30T07:00:41Z');
    expect(lines).toContain('    1 term, 10 s without leader, 7 writes refused');
    expect(lines).toContain('    writes refused    0               7');
    const silent = sayDiagnosis(judged(loss(1)), screen);
    expect(silent).toContain('  writes refused   none that their leaders told of');
    for (const line of [...lines, ...silent]) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('is no sign of lost terms, where the store granted the one that stood in the way', () => {
    const superseded = { reason: 'superseded', sinceRenewedMs: 1_000 } as const;
    expect(judged(loss(1, { ...superseded, installedTerm: 2 })).findings[0]).toMatchObject({
      cause: 'clock-stepped',
    });
    expect(judged(loss(1, { ...superseded, installedTerm: 99 })).findings[0]).toMatchObject({
      cause: 'terms-lost',
    });
  });

  it('stands once for each term and resource, with its highest count', () => {
    const [few, more] = [refusals(1, 41, 2), refusals(1, 50, 9)];
    const other = refusals(1, 42, 1, { resource: 'http' });
    expect(mergeEvidence([more], [few, other], nowMs)).toEqual([other, more]);
    expect(mergeEvidence([few], [more], nowMs)).toEqual([more]);
  });

  it('is read with care: what is no count is left out', () => {
    const stored = (entry: object) =>
      parseEvidenceDocument('evidence/1', JSON.stringify({ format: 1, entries: [entry] }));
    const good = refusals(1, 41, 2);
    expect(stored(good)).toEqual([good]);
    expect(stored({ ...good, firstAtMs: 'x' })).toEqual([{ ...good, firstAtMs: good.atMs }]);
    for (const bad of [{ count: -1 }, { count: 1.5 }, { term: '1' }, { resource: 7 }])
      expect(stored({ ...good, ...bad })).toEqual([]);
  });
});

describe('a leader that was frozen, and wakes', () => {
  it('is refused by the fence of its successor, and tells so', { timeout: 60_000 }, async () => {
    const url = inject('redisUrl');
    const namespace = freshNamespace();
    const operator = redisCoordinator(url, { namespace });
    const start = (id: string) => new LeaderProcess({ url, namespace, id, name, ttlMs: 3_000 });
    const first = start('replica-1');
    const processes = [first];
    try {
      await first.tells('elected');
      first.order('write');
      const { term: old } = await first.tells('written');
      const next = start('replica-2');
      processes.push(next);
      await next.tells('ready');
      first.signal('SIGSTOP');
      // They wait for it in its pipe, as what was begun before a freeze does.
      for (let count = 0; count < 3; count++) first.order('write');
      await next.tells('elected');
      next.order('write');
      await next.tells('written');
      first.signal('SIGCONT');
      await first.tells('refused', 3);
      await first.leave();
      const {
        findings,
        period,
        refusals: told,
      } = await diagnosedWhen(operator, ({ period: { refusedCount } }) => refusedCount >= 3);
      expect(first.countOf('written')).toBe(1);
      expect(findings[0]).toMatchObject({ cause: 'process-paused', refusedCount: 3 });
      expect(period.refusedCount).toBe(3);
      expect(told).toMatchObject([
        { term: old, holderId: 'replica-1', resource: 'redis', count: 3 },
      ]);
    } finally {
      await Promise.all(processes.map((one) => one.kill()));
      await operator.close();
    }
  });
});
