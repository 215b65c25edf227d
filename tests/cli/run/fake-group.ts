import type { Stoppable } from '../../../src/cli/supervise/stop-group.js';
import type { VirtualRuntime } from '../../../src/time/virtual.js';

/** A process group as a story: what it was told, and when. */
export class FakeGroup implements Stoppable {
  readonly told: string[] = [];
  /** How long it needs to end after SIGTERM, and after how many SIGKILLs it is gone. */
  stopsInMs = Number.POSITIVE_INFINITY;
  diesOfKills = 1;
  isGone = false;
  readonly #runtime: VirtualRuntime;

  constructor(runtime: VirtualRuntime) {
    this.#runtime = runtime;
  }

  terminate(): void {
    this.#note('TERM');
    if (this.stopsInMs < Number.POSITIVE_INFINITY)
      this.#runtime.setTimer(this.stopsInMs, () => this.vanish());
  }

  kill(): void {
    this.#note('KILL');
    this.diesOfKills -= 1;
    if (this.diesOfKills <= 0) this.vanish();
  }

  vanish(): void {
    this.isGone = true;
  }

  #note(signal: string): void {
    this.told.push(`${signal} at ${Math.round(this.#runtime.now().monotonicMs)}`);
  }
}
