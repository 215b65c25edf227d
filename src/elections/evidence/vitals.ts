import {
  elapsedMs,
  type Instant,
  isBefore,
  type Runtime,
  type Timer,
  wallStepMs,
  watchLoop,
} from '../../time/index.js';
import type { MachineSeen, ThreadTime } from './evidence.js';
import { rounded } from './renewal-log.js';
import type { ReadCounters, ThreadCounters } from './thread-counters.js';

interface Turn {
  readonly at: Instant;
  readonly counters: ThreadCounters;
  /** How long the loop stood still before it. */
  readonly stallMs: number;
}

/** Ten turns a second; of a longer time, the last 30 s are remembered. */
const turnsKept = 300;
const turnEveryMs = 100;

/** How the event loop of this thread turned lately, and what the system let it do. Costs nothing while it is stopped. */
export class Vitals {
  readonly #runtime: Runtime;
  readonly #read: ReadCounters;
  #turns: Turn[] = [];
  #watch: Timer | undefined;

  constructor(runtime: Runtime, read: ReadCounters) {
    this.#runtime = runtime;
    this.#read = read;
  }

  start(): void {
    if (this.#watch !== undefined) return;
    this.#turns = [this.#turn(0)];
    this.#watch = watchLoop(this.#runtime, (stallMs) => this.#turned(stallMs), turnEveryMs);
  }

  stop(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
  }

  /** Since a moment; a stall that is not over yet, because this is the first that runs after it, counts. */
  seenSince(from: Instant): MachineSeen {
    const last = this.#turns.at(-1);
    const now = this.#turn(0);
    const stallMs = last === undefined ? 0 : elapsedMs(last.at, now.at) - turnEveryMs;
    const turns = [...this.#turns, { ...now, stallMs: Math.max(0, stallMs) }];
    const first = turns.findLastIndex(({ at }) => !isBefore(from, at));
    const span = turns.slice(Math.max(0, first));
    const start = span[0] ?? now;
    let longest: ThreadTime = { forMs: 0 };
    for (const [index, turn] of span.entries()) {
      const before = span[index - 1];
      if (before !== undefined && turn.stallMs > longest.forMs)
        longest = between(before.counters, turn.counters, turn.stallMs);
    }
    const overMs = elapsedMs(start.at, now.at);
    return {
      overMs: rounded(overMs),
      longestStall: longest,
      all: between(start.counters, now.counters, overMs),
      suspendedMs: suspendedMs(start.at, now.at),
      wallStepMs: rounded(wallStepMs(start.at, now.at)),
    };
  }

  #turned(stallMs: number): void {
    this.#turns.push(this.#turn(stallMs));
    if (this.#turns.length > turnsKept) this.#turns.shift();
  }

  #turn(stallMs: number): Turn {
    return { at: this.#runtime.now(), counters: this.#read(), stallMs };
  }
}

function between(from: ThreadCounters, to: ThreadCounters, forMs: number): ThreadTime {
  const ranMs = difference(from.ranMs, to.ranMs);
  const waitedMs = difference(from.waitedMs, to.waitedMs);
  const throttledMs = difference(from.throttledMs, to.throttledMs);
  return {
    forMs: rounded(forMs),
    ...(ranMs !== undefined && { ranMs }),
    ...(waitedMs !== undefined && { waitedMs }),
    ...(throttledMs !== undefined && { throttledMs }),
  };
}

function difference(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : rounded(Math.max(0, to - from));
}

/** Uptime is read in steps of 10 ms, so that less than a few of them means nothing. */
function suspendedMs(from: Instant, to: Instant): number {
  const ms = to.uptimeMs - from.uptimeMs - (to.monotonicMs - from.monotonicMs);
  return ms > 50 ? rounded(ms) : 0;
}
