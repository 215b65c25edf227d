import { afterEach, describe, expect, it } from 'vitest';
import { FleetFixture, type FleetProcess } from './fixture.js';

const shardCount = 64;
const ttlMs = 6_000;
const stepMs = 250;

/** Random faults under virtual time: one seed is one run. */
class Storm {
  readonly fleet: FleetFixture;
  readonly #live: FleetProcess[] = [];
  readonly #broken = new Set<FleetProcess>();
  readonly #under = new Map<FleetProcess, 'frozen' | 'cut' | 'hung' | 'deaf'>();
  #startedCount = 0;
  readonly counts = { starts: 0, stops: 0, crashes: 0, faults: 0 };

  constructor(seed: number) {
    this.fleet = new FleetFixture(seed);
  }

  get live(): readonly FleetProcess[] {
    return this.#live;
  }

  start(): void {
    const id = `w${this.#startedCount++}`;
    const process = this.fleet.process(id, {
      leases: { ttlMs },
      worker: { shardCount, drainTimeoutMs: 3000, abortGraceMs: 500 },
    });
    process.work.onDrain = async ({ shard }) => {
      // One in eight has something in its hands.
      if (shard % 8 === 0)
        await new Promise<void>((resolve) => {
          process.runtime.setTimer(400, resolve);
        });
    };
    process.worker.start().catch(() => {});
    this.#live.push(process);
    this.counts.starts += 1;
  }

  stop(): void {
    const process = this.#pick();
    if (process === undefined || this.#live.length < 2) return;
    this.#live.splice(this.#live.indexOf(process), 1);
    void process.worker.stop();
    this.counts.stops += 1;
  }

  crash(): void {
    const process = this.#pick();
    if (process === undefined || this.#live.length < 2) return;
    this.#live.splice(this.#live.indexOf(process), 1);
    this.#under.delete(process);
    this.#broken.add(process);
    process.crash();
    this.counts.crashes += 1;
  }

  fault(): void {
    const process = this.#pick();
    if (process === undefined || this.#under.has(process)) return;
    const fault = (['frozen', 'cut', 'hung', 'deaf'] as const)[Math.floor(this.#random() * 4)];
    if (fault === undefined) return;
    this.#under.set(process, fault);
    if (fault === 'frozen') process.freeze();
    if (fault === 'cut') process.link.cut();
    if (fault === 'hung') process.link.hang();
    if (fault === 'deaf') process.link.disturb('reply', 'drop', { operation: 'watch' });
    this.counts.faults += 1;
  }

  heal(process = [...this.#under.keys()][0]): void {
    if (process === undefined) return;
    const fault = this.#under.get(process);
    this.#under.delete(process);
    if (fault === 'frozen') process.thaw();
    else process.link.heal();
  }

  healAll(): void {
    for (const process of [...this.#under.keys()]) this.heal(process);
  }

  act(): void {
    const dice = this.#random();
    if (dice < 0.08 && this.#live.length < 8) this.start();
    else if (dice < 0.13) this.stop();
    else if (dice < 0.16) this.crash();
    else if (dice < 0.24) this.fault();
    else if (dice < 0.36) this.heal();
  }

  /** No shard is worked on under a lease that has ended, nor by two processes that could both be running. */
  check(): void {
    const owners = new Map<number, string>();
    for (const process of this.fleet.processes) {
      if (this.#broken.has(process) || this.#under.get(process) === 'frozen') continue;
      for (const [shard, lease] of process.work.active) {
        expect(lease.endReason, `${process.id} works on shard ${shard}`).toBeUndefined();
        expect(owners.get(shard), `shard ${shard} and ${process.id}`).toBeUndefined();
        owners.set(shard, process.id);
      }
    }
  }

  #random(): number {
    return this.fleet.runtime.random();
  }

  #pick(): FleetProcess | undefined {
    return this.#live[Math.floor(this.#random() * this.#live.length)];
  }
}

function moveCount(processes: readonly FleetProcess[]): number {
  return processes.reduce(
    (sum, { events }) => sum + events.claimed.flatMap(({ shards }) => shards).length,
    0,
  );
}

describe('a fleet in a storm of joins, leaves, crashes, freezes and lost messages', () => {
  let storm: Storm;

  afterEach(async () => {
    await storm.fleet.close();
    expect(storm.fleet.runtime.pendingTimerCount).toBe(0);
  });

  it.each([1, 2, 3, 4, 5])(
    'never lets two work on a shard, and settles evenly afterwards (seed %i)',
    async (seed) => {
      storm = new Storm(seed);
      const { fleet } = storm;
      for (let count = 0; count < 3; count++) storm.start();
      for (let step = 0; step < 400; step++) {
        storm.act();
        await fleet.runtime.advance(stepMs);
        storm.check();
      }
      storm.healAll();
      // A crashed member is gone after a ttl, a reservation for it after one more, and then it takes a few plans.
      await fleet.runtime.advance(ttlMs * 2 + 4000);
      storm.check();
      const counts = await fleet.ownedCounts(shardCount);
      const shares = storm.live.map(({ id }) => counts[id] ?? 0);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(shardCount);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);

      const settledCount = moveCount(fleet.processes);
      const before = await fleet.owners(shardCount);
      await fleet.runtime.advance(60_000);
      expect(await fleet.owners(shardCount)).toEqual(before);
      expect(moveCount(fleet.processes)).toBe(settledCount);

      // Each change of the fleet moves at most what one fair share is, with room for detours through a wrong owner.
      const { starts, stops, crashes, faults } = storm.counts;
      expect(settledCount).toBeLessThan((starts + stops + crashes + 2 * faults) * shardCount);
      expect(starts).toBeGreaterThan(3);
      expect(crashes + faults).toBeGreaterThan(5);
      const terms = fleet.processes.flatMap(({ events }) =>
        events.claimed.flatMap(({ shards }) =>
          shards.map(({ lease }) => `${lease.name} ${lease.term}`),
        ),
      );
      expect(new Set(terms).size).toBe(terms.length);
    },
    60_000,
  );

  it('takes ten workers that start in one moment without moving a shard more than it must', async () => {
    storm = new Storm(99);
    const { fleet } = storm;
    for (let count = 0; count < 10; count++) storm.start();
    await fleet.runtime.advance(2000);
    const counts = Object.values(await fleet.ownedCounts(shardCount));
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(moveCount(fleet.processes)).toBeLessThanOrEqual(shardCount * 2);
  });
});
