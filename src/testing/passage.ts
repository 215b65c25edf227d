import type { MemoryLink } from '../drivers/memory/index.js';

interface Stop {
  readonly operation: string;
  readonly stopped: () => void;
}

/**
 * Between one process and everything outside of it. Paused, nothing leaves and nothing arrives; both are kept in their order
 * until the process goes on.
 */
export class Passage {
  #isPaused = false;
  #stops: Stop[] = [];
  #kept: (() => void)[] = [];

  pause(): void {
    this.#isPaused = true;
  }

  /** Lets out and in what was kept. */
  resume(): void {
    this.#isPaused = false;
    const kept = this.#kept;
    this.#kept = [];
    for (const act of kept) act();
  }

  /** Pauses when the next call of this operation is about to leave; calls `stopped` and resolves then. */
  pauseAt(operation: string, stopped: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#stops.push({
        operation,
        stopped: () => {
          stopped();
          resolve();
        },
      });
    });
  }

  /** A call of this operation is about to leave. */
  leave(operation: string, act: () => void): void {
    const stop = this.#isPaused
      ? undefined
      : this.#stops.find((one) => one.operation === operation);
    if (stop !== undefined) {
      this.#stops = this.#stops.filter((one) => one !== stop);
      this.#isPaused = true;
      stop.stopped();
    }
    if (this.#isPaused) this.#kept.push(() => this.leave(operation, act));
    else act();
  }

  /** The link, as this process has it. */
  around(link: MemoryLink): MemoryLink {
    return {
      carry: (message, deliver) => {
        if (message.direction === 'reply') return link.carry(message, () => this.pass(deliver));
        // What leaves after a pause is no failure before it.
        let wasSent = true;
        this.leave(message.operation, () => {
          wasSent = link.carry(message, deliver);
        });
        return wasSent;
      },
    };
  }

  /** Something happens to the process as soon as it is not paused. */
  pass(act: () => void): void {
    if (this.#isPaused) this.#kept.push(() => this.pass(act));
    else act();
  }
}
