import type { Timer } from '../../time/index.js';
import type { Members } from './members.js';
import { type EtcdEvent, EtcdWatch, type WatchedRange } from './watch.js';

export interface FollowerOptions {
  readonly client: Members;
  /** What is to be watched now. */
  readonly ranges: () => readonly WatchedRange[];
  readonly onEvents: (events: readonly EtcdEvent[]) => void;
  /** It is watched again, after a time in which anything may have happened. */
  readonly onAgain: () => void;
  /** Ranges that are wanted at nearly the same time are asked for together. Default 5. */
  readonly gatheringMs?: number;
}

const shortestPauseMs = 50;
const longestPauseMs = 2_000;
const usualGatheringMs = 5;

/** Watches ranges that come and go, over one connection at a time: each new watch goes on where the last one was. */
export class Follower {
  readonly #options: FollowerOptions;
  #watch: EtcdWatch | undefined;
  #watched = '';
  #timer: Timer | undefined;
  #pauseMs = shortestPauseMs;
  /** Everything up to here was heard, as far as it was watched. */
  #heard: number | undefined;
  #isBroken = false;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    options.client.events.on('lost', () => this.#restart());
  }

  /** The ranges may have changed. */
  changed(): void {
    const { gatheringMs = usualGatheringMs } = this.#options;
    if (!this.#isClosed && !this.#isBroken) this.#timer ??= this.#followIn(gatheringMs);
  }

  /** What is added to the ranges now is to be heard from this revision on. */
  hearFrom(revision: number): void {
    this.#heard = Math.min(this.#heard ?? revision, revision);
    this.changed();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#watch?.stop();
  }

  #followIn(delayMs: number): Timer {
    const follow = () => {
      this.#timer = undefined;
      this.#follow();
    };
    return this.#options.client.runtime.setTimer(delayMs, follow, { keepsProcessAlive: false });
  }

  #follow(): void {
    const { client, onEvents } = this.#options;
    const ranges = this.#options.ranges();
    // From where on, only matters when they are asked for.
    const wanted = JSON.stringify(ranges.map(({ key, end }) => [key, end]));
    if (wanted === this.#watched && this.#watch !== undefined) return;
    this.#watch?.stop();
    this.#watch = undefined;
    this.#watched = wanted;
    if (ranges.length === 0) {
      this.#heard = undefined;
      this.#isBroken = false;
      return;
    }
    const watch = new EtcdWatch({
      client,
      ranges,
      startRevision: this.#heard === undefined ? undefined : this.#heard + 1,
      onReady: (revision) => this.#ready(revision),
      onEvents: (events, revision) => {
        this.#heard = Math.max(this.#heard ?? 0, revision);
        onEvents(events);
      },
      onEnd: (compactedAt) => this.#broken(watch, compactedAt),
    });
    this.#watch = watch;
  }

  #ready(revision: number): void {
    if (this.#heard !== undefined && revision < this.#heard - 1) {
      // The cluster went back to an old snapshot: what was asked for lies in its future.
      this.#heard = undefined;
      this.#restart();
      return;
    }
    this.#heard ??= revision;
    this.#pauseMs = shortestPauseMs;
    if (!this.#isBroken) return;
    this.#isBroken = false;
    this.#options.onAgain();
    this.changed();
  }

  /** Where calls fail, the watch may be dead without a word: a member that is frozen keeps its connections. */
  #restart(): void {
    const watch = this.#watch;
    if (watch === undefined) return;
    watch.stop();
    this.#broken(watch, undefined);
  }

  #broken(watch: EtcdWatch, compactedAt: number | undefined): void {
    if (this.#isClosed || watch !== this.#watch) return;
    this.#watch = undefined;
    this.#isBroken = true;
    // What lies before that is not kept any more: all is looked at anew.
    if (compactedAt !== undefined) this.#heard = undefined;
    this.#timer?.cancel();
    const pauseMs = this.#pauseMs * (0.5 + this.#options.client.runtime.random() / 2);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    this.#timer = this.#followIn(pauseMs);
  }
}
