import { type MemoryStore, memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { FaultLink } from '../../../src/drivers/memory/index.js';
import { Leases, type LeasesOptions } from '../../../src/leases/index.js';
import type { StreamStore } from '../../../src/streams/contract.js';
import { type MemoryStreams, memoryStreams } from '../../../src/streams/memory/index.js';
import { ProcessRuntime } from '../../../src/testing.js';
import type { VirtualRuntime } from '../../../src/time/virtual.js';
import { overheard } from '../../support/altered.js';

/** How often each operation of a stream store was called. */
export type CallCounts = Map<string, number>;

/** One process of a simulated fleet: leases and a stream store of its own, over links that can fail. */
export class TestProcess {
  readonly runtime: ProcessRuntime;
  readonly leases: Leases;
  readonly store: StreamStore;
  readonly coordinatorLink = new FaultLink();
  readonly streamLink = new FaultLink();
  readonly calls: CallCounts = new Map();
  /** Operations of the stream store and the fence, in order. */
  readonly trace: string[] = [];

  constructor(
    world: VirtualRuntime,
    coordinator: MemoryStore,
    streams: MemoryStreams,
    options: LeasesOptions,
  ) {
    this.runtime = new ProcessRuntime(world);
    const { runtime } = this;
    this.leases = new Leases(
      memoryCoordinator(coordinator, { runtime, link: this.coordinatorLink }),
      { ttlMs: 3_000, ...options, runtime },
    );
    this.store = this.#counted(memoryStreams(streams, { runtime, link: this.streamLink }));
  }

  /** SIGSTOP: nothing it sent after this arrives, nothing arrives at it, none of its timers fires. */
  freeze(): void {
    this.runtime.pause();
    for (const link of [this.coordinatorLink, this.streamLink]) {
      link.disturb('request', 'hold');
      link.disturb('reply', 'hold');
    }
  }

  /** SIGCONT: replies that arrived meanwhile first, then the timers that are overdue. */
  thaw(): void {
    for (const link of [this.coordinatorLink, this.streamLink]) {
      link.heal();
      link.flush();
    }
    this.runtime.resume();
  }

  /** SIGKILL. */
  crash(): void {
    this.freeze();
  }

  #counted(store: StreamStore): StreamStore {
    return overheard(store, (method) => {
      this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
      this.trace.push(method);
    });
  }
}

/** The value, which has to be there. */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}
