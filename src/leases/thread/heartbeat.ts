import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import { encodeInstant } from '../led-life.js';
import { SharedRow } from './shared-row.js';

/** A loop that is merely busy must be in time although one beat came late, or two. */
const beatsPerLimit = 5;

export interface HeartbeatOptions {
  readonly runtime: Runtime;
  /** The loop may stand still for so long. */
  readonly limitMs: number;
  /** It stood still for longer. */
  readonly onStall: () => void;
  /** It turned. */
  readonly onTurn: () => void;
}

/**
 * Shows another thread that the event loop of this one turns, by writing the time into a shared row, again and again while
 * it runs; and judges by the same readings whether it stood still.
 */
export class Heartbeat {
  /** When the loop last turned. */
  readonly pulse: SharedRow;
  readonly #options: HeartbeatOptions;
  #beatAt: Instant;
  #timer: Timer | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#beatAt = options.runtime.now();
    this.pulse = SharedRow.create(encodeInstant(this.#beatAt));
  }

  /** If it runs already, only judges. */
  start(): void {
    this.judge();
    if (this.#timer !== undefined) return;
    this.#beat();
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Says so, once, if the loop stood still for too long: no beat may hide that, and no look may come before it. */
  judge(): void {
    const { runtime, limitMs, onStall } = this.#options;
    if (this.#timer === undefined || elapsedMs(this.#beatAt, runtime.now()) < limitMs) return;
    this.#beat();
    onStall();
  }

  #beat(): void {
    this.#beatAt = this.#options.runtime.now();
    this.pulse.write(encodeInstant(this.#beatAt));
  }

  /** Does not keep the process alive. */
  #arm(): void {
    const { runtime, limitMs } = this.#options;
    const turn = () => this.#turn();
    this.#timer = runtime.setTimer(limitMs / beatsPerLimit, turn, { keepsProcessAlive: false });
  }

  #turn(): void {
    this.judge();
    if (this.#timer === undefined) return;
    this.#beat();
    this.#arm();
    this.#options.onTurn();
  }
}
