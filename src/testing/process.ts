import type { Coordinator } from '../coordinators/index.js';
import { requireKnown, requireObject } from '../errors/checks.js';
import type { Runtime } from '../time/index.js';
import { FaultyCoordinator } from './faulty-coordinator.js';
import type { Grants } from './grants.js';
import { Passage } from './passage.js';
import { ProcessRuntime } from './process-runtime.js';

export interface TestProcessOptions {
  /** The time of all processes of the test. */
  readonly runtime: Runtime;
  /** The store as this process reaches it, made for its runtime; owned. */
  readonly connect: (runtime: Runtime) => Coordinator;
  /** @internal */
  readonly grants?: Grants;
}

/**
 * One of several processes in one test. Give its parts to the code that would run in it: `runtime` and `coordinator` to
 * `Leases`, and what {@link reach} makes of a database or a service in that one's place.
 *
 * Code is only stopped where it waits. What it does between two awaits, and what it awaits from anywhere else, goes on.
 */
export class TestProcess {
  readonly id: string;
  readonly runtime: ProcessRuntime;
  readonly coordinator: FaultyCoordinator;
  readonly #passage = new Passage();

  constructor(id: string, options: TestProcessOptions) {
    const { runtime, connect, grants } = requireKnown(
      'options',
      options,
      { runtime: true, connect: true, grants: true },
      'pass { runtime, connect }',
    );
    this.id = id;
    this.runtime = new ProcessRuntime(runtime);
    this.coordinator = new FaultyCoordinator(connect(this.runtime), {
      runtime: this.runtime,
      passage: this.#passage,
      ...(grants !== undefined && { grants }),
    });
  }

  get isPaused(): boolean {
    return this.runtime.isPaused;
  }

  /** Stops it, as SIGSTOP does: clocks go on, no timer fires, nothing is sent and no answer is heard. */
  pause(): void {
    this.runtime.pause();
    this.#passage.pause();
  }

  /**
   * Stops it the next time that it calls this operation of its coordinator or of something it {@link reach}es, before
   * anything is sent: between a check and the write that follows. Resolves when it has stopped.
   */
  async pauseAt(operation: string): Promise<void> {
    await this.#passage.pauseAt(operation, () => this.runtime.pause());
  }

  /**
   * It goes on, as Node does: the timers that came due fire first, now, and all that follows from them; in the next turn of
   * the event loop it sends and hears what had waited.
   */
  resume(): void {
    this.runtime.resume();
    this.runtime.nextTurn(() => this.#passage.resume());
  }

  /**
   * Something outside of the process: the same object, of which each call leaves the process, and each answer arrives, only
   * while it is not paused. For methods that return promises; those that are called with a callback that is awaited (a
   * transaction) leave as a whole.
   */
  reach<Outside extends object>(outside: Outside): Outside {
    return new Proxy(requireObject('outside', outside), {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) =>
          this.#cross(String(property), () => Reflect.apply(member, target, args));
      },
    });
  }

  async #cross(operation: string, call: () => unknown): Promise<unknown> {
    await new Promise<void>((left) => this.#passage.leave(operation, left));
    try {
      return await call();
    } finally {
      await new Promise<void>((arrived) => this.#passage.pass(arrived));
    }
  }
}
