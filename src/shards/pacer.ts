import { Backoff, elapsedMs, type Instant, type Runtime, type Timer } from '../time/index.js';

export interface PacerOptions {
  readonly runtime: Runtime;
  /**
   * One pass, with the names it was woken for as far as they are known and few. Resolves to the milliseconds until the
   * next one, if nothing wakes the pacer before.
   */
  readonly pass: (woken: readonly string[]) => Promise<number>;
  readonly onError: (error: unknown) => void;
  /** After a failed pass the next comes within this many milliseconds. */
  readonly longestBackoffMs: number;
}

/** This many passes may follow a wake at once, and one more every {@link refillMs}. */
const burstCount = 3;
const refillMs = 100;
/** More names than these are as good as none. */
const nameLimit = 16;

/**
 * Decides when to look at the fleet: when woken, at a known moment, or after a failure once a pause is over.
 *
 * Passes never overlap. Wakes that come during a pass make one more; a flood of them makes ten in a second. A wake that
 * comes alone is followed at once, so that a handoff does not wait for anything.
 */
export class Pacer {
  readonly #options: PacerOptions;
  readonly #backoff: Backoff;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #names = new Set<string>();
  #isBackingOff = false;
  #isStopped = false;
  #credit = burstCount;
  #creditAt: Instant;

  constructor(options: PacerOptions) {
    const { runtime, longestBackoffMs } = options;
    this.#options = options;
    this.#creditAt = runtime.now();
    this.#backoff = new Backoff(runtime, {
      firstMs: Math.min(100, longestBackoffMs),
      limitMs: longestBackoffMs,
    });
  }

  /** Something may have changed, at this name perhaps. During a back-off it waits for its end. */
  wake(name?: string): void {
    if (name !== undefined && this.#names.size <= nameLimit) this.#names.add(name);
    if (this.#isWoken) return;
    this.#isWoken = true;
    if (this.#running === undefined && !this.#isBackingOff) this.#arm(this.#untilCreditMs());
  }

  /** A pass that begins after this call, whatever the pace; resolves when it is over, whether or not it failed. */
  async passNow(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    if (!this.#isStopped) await this.#run();
  }

  /** No further pass begins; resolves when the one under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#isStopped) return;
    this.#timer = this.#options.runtime.setTimer(delayMs, () => void this.#run());
  }

  #run(): Promise<void> {
    this.#timer?.cancel();
    // Over and armed again in one step: a wake in between would be forgotten.
    this.#running ??= this.#pass().then((nextMs) => {
      this.#running = undefined;
      this.#arm(this.#isWoken && !this.#isBackingOff ? this.#untilCreditMs() : nextMs);
    });
    return this.#running;
  }

  async #pass(): Promise<number> {
    this.#untilCreditMs();
    this.#credit = Math.max(0, this.#credit - 1);
    this.#isWoken = false;
    this.#isBackingOff = false;
    const names = [...this.#names];
    this.#names.clear();
    try {
      const nextMs = await this.#options.pass(names.length <= nameLimit ? names : []);
      this.#backoff.reset();
      return nextMs;
    } catch (error) {
      this.#isBackingOff = true;
      this.#options.onError(error);
      return this.#backoff.nextMs();
    }
  }

  #untilCreditMs(): number {
    const now = this.#options.runtime.now();
    const earned = elapsedMs(this.#creditAt, now) / refillMs;
    this.#credit = Math.min(burstCount, this.#credit + earned);
    this.#creditAt = now;
    return this.#credit >= 1 ? 0 : (1 - this.#credit) * refillMs;
  }
}
