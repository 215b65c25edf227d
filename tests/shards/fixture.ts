import type { Coordinator } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { Leases, type LeasesOptions } from '../../src/leases/index.js';
import {
  type OwnedShard,
  ShardWorker,
  type ShardWorkerEvents,
  type ShardWorkerOptions,
  shardLeaseName,
} from '../../src/shards/index.js';
import { ProcessRuntime } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { overheard } from '../support/altered.js';
import { RecordingWork } from './recording-work.js';

export const group = 'fleet';

export interface FleetProcess {
  readonly id: string;
  readonly leases: Leases;
  readonly worker: ShardWorker;
  readonly work: RecordingWork;
  readonly link: FaultLink;
  readonly runtime: ProcessRuntime;
  /** Calls of the coordinator by method. */
  readonly calls: Map<string, number>;
  readonly events: {
    readonly [Name in keyof ShardWorkerEvents]: ShardWorkerEvents[Name][];
  };
  /** The process stops dead: nothing of it runs any more, and its link is cut. */
  crash(): void;
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export interface ProcessOptions {
  readonly leases?: LeasesOptions;
  readonly worker?: Partial<ShardWorkerOptions>;
  readonly work?: RecordingWork;
}

/** Any number of processes that share one store and one virtual clock. */
export class FleetFixture {
  readonly runtime: VirtualRuntime;
  readonly store: MemoryStore;
  readonly observer: Coordinator;
  readonly processes: FleetProcess[] = [];

  constructor(seed = 1) {
    this.runtime = new VirtualRuntime({ seed });
    this.store = new MemoryStore({ runtime: this.runtime });
    this.observer = memoryCoordinator(this.store);
  }

  process(id: string, options: ProcessOptions = {}): FleetProcess {
    const link = new FaultLink();
    const runtime = new ProcessRuntime(this.runtime);
    const calls = new Map<string, number>();
    const coordinator = overheard(memoryCoordinator(this.store, { runtime, link }), (method) =>
      calls.set(method, (calls.get(method) ?? 0) + 1),
    );
    const leases = new Leases(coordinator, { id, runtime, ...options.leases });
    const work = options.work ?? new RecordingWork();
    const worker = new ShardWorker({ leases, group, work, ...options.worker });
    const freeze = () => {
      runtime.pause();
      link.disturb('reply', 'hold');
    };
    const process: FleetProcess = {
      id,
      leases,
      worker,
      work,
      link,
      runtime,
      calls,
      events: recordEvents(worker),
      crash: () => {
        freeze();
        link.cut();
      },
      freeze,
      thaw: () => {
        link.heal();
        link.flush();
        runtime.resume();
      },
      close: async () => {
        await worker.stop();
        await leases.close();
        await coordinator.close();
      },
    };
    this.processes.push(process);
    return process;
  }

  /** Starts one after the other, each into a fleet that has settled. */
  async start<const Ids extends readonly string[]>(
    ...ids: Ids
  ): Promise<{ -readonly [Index in keyof Ids]: FleetProcess }> {
    const started: FleetProcess[] = [];
    for (const id of ids) {
      const process = this.process(id);
      await this.runtime.advanceUntil(process.worker.start());
      await this.runtime.advance(500);
      started.push(process);
    }
    return started as { -readonly [Index in keyof Ids]: FleetProcess };
  }

  /** Closes everything, crashed processes too; nothing may be left. */
  async close(): Promise<void> {
    for (const process of this.processes) process.thaw();
    await this.runtime.advanceUntil(Promise.all(this.processes.map(({ close }) => close())));
    await this.observer.close();
  }

  /** Who owns each shard by the store's view: the id, or `undefined` if it is free or only reserved. */
  async owners(shardCount = 256): Promise<(string | undefined)[]> {
    const names = Array.from({ length: shardCount }, (_, shard) => shardLeaseName(group, shard));
    const reading = this.observer.read(names, { timeoutMs: 1000 });
    await this.runtime.settle();
    const records = await reading;
    return records.map((record) => (record?.state === 'held' ? record.holder.id : undefined));
  }

  /** Shards of running processes that nobody works on, or more than one. */
  misplaced(shardCount = 256): number[] {
    const counts = new Array<number>(shardCount).fill(0);
    for (const { work } of this.processes)
      for (const shard of work.active.keys()) counts[shard] = (counts[shard] ?? 0) + 1;
    return counts.flatMap((count, shard) => (count === 1 ? [] : [shard]));
  }

  async ownedCounts(shardCount = 256): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const owner of await this.owners(shardCount)) {
      const id = owner ?? 'nobody';
      counts[id] = (counts[id] ?? 0) + 1;
    }
    return counts;
  }
}

export function numbersOf(shards: readonly OwnedShard[]): number[] {
  return shards.map(({ shard }) => shard);
}

function recordEvents(worker: ShardWorker): FleetProcess['events'] {
  const events: FleetProcess['events'] = {
    claimed: [],
    takenOver: [],
    termHealed: [],
    handedOff: [],
    released: [],
    lost: [],
    planned: [],
    memberState: [],
    error: [],
  };
  for (const name of Object.keys(events) as (keyof ShardWorkerEvents)[])
    worker.events.on(name, (event) => (events[name] as unknown[]).push(event));
  return events;
}
