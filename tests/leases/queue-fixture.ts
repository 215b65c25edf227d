import type { Coordinator, LeaseRecord } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { Leases, type LeasesOptions, type WaitOptions } from '../../src/leases/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { altered, overheard } from '../support/altered.js';

/** One process that waits, how it reaches the store, and what it asks of it. */
export interface QueueProcess {
  readonly leases: Leases;
  readonly link: FaultLink;
  readonly coordinator: Coordinator;
}

/** Any number of processes that share a store whose requests are counted, under one virtual clock. */
export class QueueFixture {
  readonly runtime: VirtualRuntime;
  readonly store: MemoryStore;
  readonly operator: Coordinator;
  /** Requests of all processes since {@link resetCounts}, by method; `watch` counts subscriptions. */
  readonly #counts = new Map<string, number>();
  /** How many listen for calls now. */
  listenerCount = 0;

  constructor(seed = 1) {
    this.runtime = new VirtualRuntime({ seed });
    this.store = new MemoryStore({ runtime: this.runtime });
    this.operator = memoryCoordinator(this.store);
  }

  process(id: string, options: LeasesOptions = {}, link = new FaultLink()): QueueProcess {
    const { runtime } = this;
    const coordinator = this.#counting(memoryCoordinator(this.store, { runtime, link }));
    return { leases: new Leases(coordinator, { id, runtime, ...options }), link, coordinator };
  }

  countOf(method: keyof Coordinator): number {
    return this.#counts.get(method) ?? 0;
  }

  resetCounts(): void {
    this.#counts.clear();
  }

  async read(name: string): Promise<LeaseRecord | undefined> {
    return (await this.operator.read([name], { timeoutMs: 1_000 }))[0];
  }

  /** Who holds the name, by the store. */
  async ownerOf(name: string): Promise<string | undefined> {
    const record = await this.read(name);
    return record?.state === 'held' ? record.holder.id : undefined;
  }

  /** Everybody's entry for the name, in order, e.g. `b waiting`. */
  async candidates(name: string): Promise<string[]> {
    const candidates = await this.operator.candidates(name, { timeoutMs: 1_000 });
    return candidates.map(({ id, standing }) => `${id} ${standing}`);
  }

  #counting(inner: Coordinator): Coordinator {
    const counted = overheard(inner, (method) =>
      this.#counts.set(method, (this.#counts.get(method) ?? 0) + 1),
    );
    return altered(counted, {
      onCalled: (holder, called) => {
        const unlisten = counted.onCalled(holder, called);
        this.listenerCount += 1;
        return () => {
          this.listenerCount -= 1;
          unlisten();
        };
      },
    });
  }
}

export const name = 'payments';
export const ttlMs = 6_000;
export const renewEveryMs = ttlMs / 3;

/** Processes of these ids, which share one store. */
export function fixtureOf(...ids: string[]) {
  const fixture = new QueueFixture();
  const processes = ids.map((id) => fixture.process(id, { ttlMs }));
  return {
    fixture,
    runtime: fixture.runtime,
    processes: processes as [QueueProcess, ...QueueProcess[]],
  };
}

/** A wait, and what has become of it so far. */
export function startWaiting({ leases }: QueueProcess, options: WaitOptions = {}) {
  const wait = { lease: undefined, error: undefined, isOver: false } as {
    lease: Awaited<ReturnType<typeof leases.acquire>>;
    error: unknown;
    isOver: boolean;
  };
  void leases
    .acquire(name, { waitMs: Number.POSITIVE_INFINITY, ...options })
    .then(
      (lease) => Object.assign(wait, { lease }),
      (error: unknown) => Object.assign(wait, { error }),
    )
    .finally(() => Object.assign(wait, { isOver: true }));
  return wait;
}
