import { Backoff, elapsedMs, type Instant, type Runtime } from '../time/index.js';
import type { ResolvedTiming } from './options.js';

/**
 * When the store is to be told about one entry: at once after a change, every `renewEveryMs` at the latest, with growing
 * pauses after failures. One request is under way at a time, so that they are executed in the order they were wanted in.
 */
export class Errand {
  readonly #runtime: Runtime;
  #begunAt: Instant | undefined;
  #next: { readonly from: Instant; readonly afterMs: number } | undefined;
  #backoff: Backoff | undefined;
  /** Whom the request under way answers, and who came since. */
  #answered: (() => void)[] = [];
  #asking: (() => void)[] = [];

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Resolves at the end of the next request that begins after this, however it ends. */
  demand(): Promise<void> {
    this.hurry(0);
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  /** Due in `afterMs`, if it is not before. */
  hurry(afterMs: number): void {
    this.#schedule(this.#runtime.now(), afterMs);
  }

  /** Something will be due, without anybody asking again. */
  get isWanted(): boolean {
    return this.#next !== undefined;
  }

  /** Infinite while a request is under way. */
  dueInMs(now: Instant): number {
    return this.#begunAt === undefined ? this.#nextInMs(now) : Number.POSITIVE_INFINITY;
  }

  /** Soon enough to go along with others. */
  isNearlyDue(now: Instant): boolean {
    return this.dueInMs(now) <= (this.#next?.afterMs ?? 0) / 2;
  }

  /** It is not for its time that it is due: somebody asked. */
  get isDemanded(): boolean {
    return this.#next?.afterMs === 0;
  }

  begin(): void {
    this.#begunAt = this.#runtime.now();
    this.#next = undefined;
    this.#answered = this.#asking;
    this.#asking = [];
  }

  /** The next refresh follows by itself; without a timing there is none. */
  succeeded(timing: ResolvedTiming | undefined): void {
    const begunAt = this.#end();
    this.#backoff = undefined;
    // Those of many processes that began together drift apart, so that not all of them look in the same moment.
    if (timing !== undefined)
      this.#schedule(begunAt, timing.renewEveryMs * (0.75 + this.#runtime.random() / 4));
  }

  /** Tried again by itself, in the time that is returned. */
  failed({ attemptTimeoutMs, renewEveryMs }: ResolvedTiming): number {
    this.#end();
    const limits = { firstMs: attemptTimeoutMs / 4, limitMs: renewEveryMs };
    this.#backoff ??= new Backoff(this.#runtime, limits);
    const retryInMs = this.#backoff.nextMs();
    this.hurry(retryInMs);
    return retryInMs;
  }

  #end(): Instant {
    const begunAt = this.#begunAt ?? this.#runtime.now();
    this.#begunAt = undefined;
    for (const resolve of this.#answered) resolve();
    this.#answered = [];
    return begunAt;
  }

  #schedule(from: Instant, afterMs: number): void {
    const now = this.#runtime.now();
    if (afterMs - elapsedMs(from, now) < this.#nextInMs(now)) this.#next = { from, afterMs };
  }

  #nextInMs(now: Instant): number {
    if (this.#next === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#next.afterMs - elapsedMs(this.#next.from, now));
  }
}
