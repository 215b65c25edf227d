import type { Coordinator } from '../coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../coordinators/memory/index.js';
import { requireKnown } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { FencingToken } from '../fences/index.js';
import type { Runtime } from '../time/index.js';
import { VirtualRuntime } from '../time/virtual.js';
import { FaultyCoordinator } from './faulty-coordinator.js';
import { Grants } from './grants.js';
import { TestProcess } from './process.js';

export interface TestFleetOptions {
  /** Drawn from it: nonces and jitter. One seed, one run. A 32-bit unsigned integer; default 1. */
  readonly seed?: number;
  /**
   * How a process reaches the store, with the process's own clocks and timers; called once for each, and once for the fleet
   * itself. Default: all of them share a store in memory.
   */
  readonly connect?: (runtime: Runtime) => Coordinator;
}

/**
 * Any number of processes in one test, on one virtual clock and one store, each with faults of its own. Needs no test
 * framework and works with any.
 */
export class TestFleet {
  /** The time of all of them. It stands still until {@link advance} or {@link until} moves it. */
  readonly clock: VirtualRuntime;
  readonly #connect: (runtime: Runtime) => Coordinator;
  readonly #grants = new Grants();
  readonly #operator: FaultyCoordinator;
  readonly #processes = new Map<string, TestProcess>();

  constructor(options: TestFleetOptions = {}) {
    const { seed = 1, connect } = requireKnown('options', options, { seed: true, connect: true });
    this.clock = new VirtualRuntime({ seed });
    const store = new MemoryStore({ runtime: this.clock });
    this.#connect = connect ?? ((runtime) => memoryCoordinator(store, { runtime }));
    const runtime = this.clock;
    this.#operator = new FaultyCoordinator(this.#connect(runtime), {
      runtime,
      grants: this.#grants,
    });
  }

  /** The store as an operator reaches it, without faults: to look at what stands there, to suspend, to revoke. */
  get operator(): Coordinator {
    return this.#operator;
  }

  /** A new process. @throws {OptionError} if there is one of this id. */
  process(id: string): TestProcess {
    if (this.#processes.has(id))
      throw new OptionError('id', id, 'is there already', 'give each process an id of its own');
    const process = new TestProcess(id, {
      runtime: this.clock,
      connect: this.#connect,
      grants: this.#grants,
    });
    this.#processes.set(id, process);
    return process;
  }

  /** Lets so many milliseconds pass, with all that happens meanwhile. */
  advance(durationMs: number): Promise<void> {
    return this.clock.advance(durationMs);
  }

  /** Lets time pass until the promise settles. @throws {Error} if it does not within `limitMs`, default 10 min. */
  until<Value>(promise: Promise<Value>, limitMs?: number): Promise<Value> {
    return this.clock.advanceUntil(promise, limitMs);
  }

  /** See {@link FaultyCoordinator.expire}. */
  expire(name: string): Promise<boolean> {
    return this.#operator.expire(name);
  }

  /** See {@link FaultyCoordinator.steal}. */
  steal(name: string, ttlMs?: number): Promise<FencingToken> {
    return this.#operator.steal(name, ttlMs);
  }

  /** Resumes every process, ends every fault, and closes the coordinators. Close first what uses them. */
  async close(): Promise<void> {
    const processes = [...this.#processes.values()];
    for (const { coordinator } of processes) coordinator.heal();
    for (const process of processes) process.resume();
    await this.clock.settle();
    await Promise.all(processes.map(({ coordinator }) => coordinator.close()));
    await this.#operator.close();
  }
}
