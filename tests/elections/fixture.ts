import type { Coordinator } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import {
  type Election,
  type ElectionEvents,
  type ElectionOptions,
  Elections,
  type LeadContext,
} from '../../src/elections/index.js';
import { type Lease, Leases, type LeasesOptions } from '../../src/leases/index.js';
import { ProcessRuntime } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { overheard } from '../support/altered.js';
import { Witness } from '../support/witness.js';

export const name = 'payments';
export const ttlMs = 6_000;
export const giveUpAfterMs = 4_000;
export const act = { by: 'operator', reason: 'test' };

/** One process of a test, reaching the store by a link of its own. */
export interface Process {
  readonly id: string;
  readonly leases: Leases;
  readonly elections: Elections;
  readonly election: Election;
  readonly coordinator: Coordinator;
  readonly link: FaultLink;
  readonly runtime: ProcessRuntime;
  /** What the election told, e.g. `elected`, `lost expired`, `workFailed boom`. */
  readonly log: string[];
  /** Calls of the coordinator by method. */
  readonly calls: Map<string, number>;
  /** The process stops dead: nothing of it runs any more, and its link is cut. */
  crash(): void;
  /** SIGSTOP, and SIGCONT. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export interface ProcessOptions {
  readonly leases?: LeasesOptions;
  readonly election?: ElectionOptions;
}

/** Any number of processes that share one store and one virtual clock. */
export class ElectionFixture {
  readonly runtime: VirtualRuntime;
  readonly store: MemoryStore;
  readonly operator: Coordinator;
  readonly witness: Witness;
  readonly processes: Process[] = [];

  constructor(seed = 1) {
    this.runtime = new VirtualRuntime({ seed });
    this.store = new MemoryStore({ runtime: this.runtime });
    this.operator = memoryCoordinator(this.store);
    this.witness = new Witness(() => this.runtime.now().wallMs);
  }

  process(id: string, options: ProcessOptions = {}): Process {
    const link = new FaultLink();
    const runtime = new ProcessRuntime(this.runtime);
    const calls = new Map<string, number>();
    const coordinator = overheard(memoryCoordinator(this.store, { runtime, link }), (method) =>
      calls.set(method, (calls.get(method) ?? 0) + 1),
    );
    const leases = new Leases(coordinator, { id, runtime, ttlMs, ...options.leases });
    const elections = new Elections(leases);
    const election = elections.election(name, options.election ?? {});
    const freeze = () => {
      runtime.pause();
      link.disturb('reply', 'hold');
    };
    const process: Process = {
      id,
      leases,
      elections,
      election,
      coordinator,
      link,
      runtime,
      log: record(election),
      calls,
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
        await elections.close();
        await leases.close();
        await coordinator.close();
      },
    };
    this.processes.push(process);
    return process;
  }

  /** Closes everything, crashed processes too; nothing may be left. */
  async close(): Promise<void> {
    for (const process of this.processes) process.thaw();
    await this.runtime.advanceUntil(Promise.all(this.processes.map(({ close }) => close())));
    await this.operator.close();
    await this.runtime.settle();
  }

  /** Names, ids and standings of the candidates, as the store has them. */
  async candidates(): Promise<string[]> {
    const candidates = await this.operator.candidates(name, { timeoutMs: 1_000 });
    return candidates.map(({ id, standing }) => `${id} ${standing}`);
  }

  async leader(): Promise<string | undefined> {
    const [record] = await this.operator.read([name], { timeoutMs: 1_000 });
    return record?.state === 'held' ? record.holder.id : undefined;
  }
}

/** Work that ends when it is told to, or when the test says so, and tells what it went through. */
export class TestWork {
  readonly leases: Lease[] = [];
  readonly stopping: AbortSignal[] = [];
  /** How many of it run now, and ever ran at a time. */
  activeCount = 0;
  mostActiveCount = 0;
  /** What happens once it is told to stop; by default it returns at once. */
  onStop: (lease: Lease) => unknown = () => 'stopped';
  #end: ((how: { readonly value?: unknown; readonly error?: unknown }) => void) | undefined;

  readonly run = async (lease: Lease, { stopping }: LeadContext): Promise<unknown> => {
    this.leases.push(lease);
    this.stopping.push(stopping);
    this.activeCount += 1;
    this.mostActiveCount = Math.max(this.mostActiveCount, this.activeCount);
    try {
      return await new Promise((resolve, reject) => {
        this.#end = (how) => ('error' in how ? reject(how.error) : resolve(how.value));
        const stop = () => resolve(this.onStop(lease));
        if (stopping.aborted) stop();
        else stopping.addEventListener('abort', stop, { once: true });
      });
    } finally {
      this.activeCount -= 1;
    }
  };

  get lease(): Lease {
    const lease = this.leases.at(-1);
    if (lease === undefined) throw new Error('the work has not begun');
    return lease;
  }

  get beginCount(): number {
    return this.leases.length;
  }

  return(value?: unknown): void {
    this.#end?.({ value });
  }

  throw(error: unknown): void {
    this.#end?.({ error });
  }
}

/** A process that leads, or waits to. */
export function candidate(fixture: ElectionFixture, id: string, options: ProcessOptions = {}) {
  const process = fixture.process(id, options);
  const work = new TestWork();
  const stop = new AbortController();
  const leading = process.election.lead(work.run, { signal: stop.signal });
  leading.catch(() => {});
  return { ...process, work, stop, leading };
}

/** A log without the tries that were repeated: how many there are is not the point. */
export function withoutRetries(log: readonly string[]): string[] {
  return log.filter((line) => !line.startsWith('campaignFailed'));
}

/** Never settles. */
export const never = (): Promise<never> => new Promise(() => {});

/** The value, which has to be there. */
export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}

/** What a promise rejects with. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`resolved with ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

function record(election: Election): string[] {
  const log: string[] = [];
  const tell = <Name extends keyof ElectionEvents>(
    event: Name,
    show: (event: ElectionEvents[Name]) => unknown = () => '',
  ) => election.events.on(event, (told) => log.push(`${event} ${String(show(told))}`.trim()));
  tell('elected');
  tell('lost', ({ reason }) => reason);
  tell('resigned', ({ reason }) => reason);
  tell('workFailed', ({ error }) => (error instanceof Error ? error.message : error));
  tell('workReturned');
  tell('workOverdue');
  tell('campaignFailed', ({ error }) => (error as { code?: string }).code);
  tell('termHealed');
  tell('duplicate', ({ id }) => id);
  return log;
}
