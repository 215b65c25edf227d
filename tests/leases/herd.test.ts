import { describe, expect, it } from 'vitest';
import { calledCount } from '../../src/coordinators/index.js';
import type { Lease } from '../../src/leases/index.js';
import { sleep } from '../../src/time/index.js';
import { defined } from './fixture.js';
import { QueueFixture, type QueueProcess } from './queue-fixture.js';

const name = 'payments';
const ttlMs = 6_000;
const renewEveryMs = ttlMs / 3;

/** Processes that campaign for one name again and again. */
class Campaign {
  readonly fixture: QueueFixture;
  readonly processes: QueueProcess[];
  leader: { readonly process: QueueProcess; readonly lease: Lease } | undefined;
  readonly takenAtMs: number[] = [];
  #isOver = false;

  constructor(candidateCount: number, seed = 1) {
    this.fixture = new QueueFixture(seed);
    // The first of them leads from the start; all others wait.
    this.processes = Array.from({ length: candidateCount + 1 }, (_, index) =>
      this.fixture.process(`p${index}`, { ttlMs }),
    );
    for (const process of this.processes) void this.#campaign(process);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    for (const { link } of this.processes) link.heal();
    const closing = Promise.all(this.processes.map(({ leases }) => leases.close()));
    await this.fixture.runtime.advanceUntil(closing);
  }

  async #campaign(process: QueueProcess): Promise<void> {
    while (!this.#isOver) {
      const waiting = process.leases.acquire(name, { waitMs: Number.POSITIVE_INFINITY });
      const lease = await waiting.catch(() => undefined);
      if (lease === undefined) return;
      this.leader = { process, lease };
      this.takenAtMs.push(this.fixture.runtime.now().monotonicMs);
      await new Promise<void>((resolve) => {
        lease.signal.addEventListener('abort', () => resolve());
      });
      // Who had it leaves it to others for a moment: a first try does not stand in the queue.
      await sleep(this.fixture.runtime, 500);
    }
  }
}

const timeout = 30_000;

describe.each([2, 50, 500])(
  'a name for which %d candidates wait',
  { timeout },
  (candidateCount) => {
    it('is asked for by the first in the queue alone when it becomes free, however many wait', async () => {
      const campaign = new Campaign(candidateCount);
      const { fixture } = campaign;
      await fixture.runtime.advance(2 * ttlMs);
      for (let round = 0; round < 2; round++) {
        const { lease, process } = defined(campaign.leader);
        const isCrash = round % 2 === 1;
        if (isCrash) process.link.cut();
        const record = defined(await fixture.read(name));
        const remainingMs = isCrash && record.state === 'held' ? record.remainingMs : 1;
        await fixture.runtime.advance(remainingMs - 0.5);
        fixture.resetCounts();
        const freeAtMs = fixture.runtime.now().monotonicMs;
        if (!isCrash) await lease.release();
        await fixture.runtime.advance(1_000);
        expect(await fixture.ownerOf(name)).not.toBe(lease.holder.id);
        expect(defined(campaign.takenAtMs.at(-1)) - freeAtMs).toBeLessThan(50);
        expect(fixture.countOf('acquire')).toBeLessThanOrEqual(calledCount + (isCrash ? 0 : 1));
        expect(fixture.countOf('read')).toBe(1);
        process.link.heal();
        await fixture.runtime.advance(2 * ttlMs);
      }
      await campaign.close();
    });

    it('is asked for by nobody while it is held', async () => {
      const campaign = new Campaign(candidateCount);
      const { fixture } = campaign;
      await fixture.runtime.advance(2 * ttlMs);
      fixture.resetCounts();
      await fixture.runtime.advance(4 * ttlMs);
      expect(fixture.countOf('acquire')).toBe(0);
      expect(fixture.countOf('watch')).toBe(0);
      // Each looks after itself no more often than an owner does.
      const refreshCount = candidateCount * ((4 * ttlMs) / renewEveryMs);
      expect(fixture.countOf('enroll')).toBeGreaterThanOrEqual(refreshCount);
      expect(fixture.countOf('enroll')).toBeLessThan(refreshCount * 1.4);
      await campaign.close();
    });
  },
);

describe('a name for which 100 candidates wait, who began in one moment and hear no calls', () => {
  it('is asked for by few of them, since they do not look in one moment', async () => {
    const campaign = new Campaign(100);
    const { fixture } = campaign;
    for (const { link } of campaign.processes)
      link.disturb('reply', 'drop', { operation: 'watch' });
    await fixture.runtime.advance(5 * ttlMs);
    const { lease, process } = defined(campaign.leader);
    fixture.resetCounts();
    await lease.release();
    process.link.cut();
    await fixture.runtime.advance(renewEveryMs);
    expect(await fixture.ownerOf(name)).toBeDefined();
    expect(fixture.countOf('acquire')).toBeLessThanOrEqual(calledCount + 1);
    await campaign.close();
  });
});

describe('a name for which 200 candidates wait, of whom a fifth are dead', { timeout }, () => {
  const candidateCount = 200;
  const deadCount = candidateCount / 5;
  /** A live one looks by itself this often; what follows are a request and the step from one place to the next. */
  const longestVacancyMs = renewEveryMs + 300;

  /** The ids of those who wait, first in line first. */
  async function queueOf({ fixture }: Campaign): Promise<string[]> {
    const candidates = await fixture.operator.candidates(name, { timeoutMs: 1_000 });
    return candidates.filter(({ standing }) => standing === 'waiting').map(({ id }) => id);
  }

  function processOf({ processes }: Campaign, id: string | undefined): QueueProcess {
    return defined(processes.find(({ leases }) => leases.holder.id === id));
  }

  /** How long nobody held it at most, while `durationMs` pass. */
  async function longestVacancyIn({ fixture }: Campaign, durationMs: number): Promise<number> {
    let vacantMs = 0;
    let longestMs = 0;
    for (let passedMs = 0; passedMs < durationMs; passedMs += 20) {
      await fixture.runtime.advance(20);
      vacantMs = (await fixture.ownerOf(name)) === undefined ? vacantMs + 20 : 0;
      longestMs = Math.max(longestMs, vacantMs);
    }
    return longestMs;
  }

  it.each(['released', 'expired'])(
    'is taken by a live one soon after it was %s, although the first in line are dead',
    async (how) => {
      const campaign = new Campaign(candidateCount);
      const { fixture } = campaign;
      await fixture.runtime.advance(2 * ttlMs);
      const queue = await queueOf(campaign);
      for (const id of queue.slice(0, deadCount)) processOf(campaign, id).link.cut();
      const { lease, process } = defined(campaign.leader);
      if (how === 'released') await lease.release();
      else process.link.cut();
      const vacantMs = await longestVacancyIn(campaign, 2 * ttlMs);
      expect(vacantMs).toBeLessThan(longestVacancyMs);
      expect(queue.slice(0, deadCount)).not.toContain(await fixture.ownerOf(name));
      await campaign.close();
    },
  );

  it('is taken by its last candidate too, when all that are called are dead', async () => {
    const campaign = new Campaign(calledCount + 1);
    const { fixture } = campaign;
    await fixture.runtime.advance(2 * ttlMs);
    const queue = await queueOf(campaign);
    for (const id of queue.slice(0, calledCount)) processOf(campaign, id).link.cut();
    const { lease, process } = defined(campaign.leader);
    await lease.release();
    process.link.cut();
    const vacantMs = await longestVacancyIn(campaign, ttlMs);
    expect(await fixture.ownerOf(name)).toBe(queue[calledCount]);
    // It was not called, but looked.
    expect(vacantMs).toBeGreaterThan(0);
    expect(vacantMs).toBeLessThan(longestVacancyMs);
    await campaign.close();
  });

  it.each([1, 2, 3])(
    'is never vacant for long while leaders crash and retire at random (seed %d)',
    async (seed) => {
      const campaign = new Campaign(candidateCount, seed);
      const { fixture, processes } = campaign;
      const { runtime } = fixture;
      await runtime.advance(ttlMs);
      for (let index = 0; index < deadCount; index++)
        processes[Math.floor(runtime.random() * processes.length)]?.link.cut();
      for (let round = 0; round < 12; round++) {
        const id = await fixture.ownerOf(name);
        const { lease, process } = defined(campaign.leader);
        if (id === lease.holder.id && runtime.random() < 0.7) await lease.release();
        else process.link.cut();
        expect(await longestVacancyIn(campaign, 1.5 * ttlMs)).toBeLessThan(longestVacancyMs);
      }
      expect(campaign.takenAtMs.length).toBeGreaterThan(8);
      await campaign.close();
    },
  );
});
