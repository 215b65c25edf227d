import { elapsedMs, type Instant, type Timer } from '../../time/index.js';
import type { Members } from './members.js';
import { type EtcdEvent, EtcdWatch, type WatchedRange } from './watch.js';

export interface FollowerOptions {
  readonly client: Members;
  /** What is to be watched now. */
  readonly ranges: () => readonly WatchedRange[];
  readonly onEvents: (events: readonly EtcdEvent[]) => void;
  /**
   * It is watched again, after a time in which anything may have happened; with `hasMissed`, part of it is not kept any more,
   * and will not be told.
   */
  readonly onAgain: (hasMissed: boolean) => void;
  /** Ranges that are wanted at nearly the same time are asked for together. Default 5. */
  readonly gatheringMs?: () => number;
}

const shortestPauseMs = 50;
const longestPauseMs = 2_000;
const usualGatheringMs = () => 5;
/** A member tells a watch that begins in the past of that past within a tenth of this. */
const catchingUpMs = 1_000;

/** From here on something is to be heard that was not watched so far. */
interface Owed {
  readonly from: number;
  isAsked: boolean;
  /** Since then the member tells of it. */
  readyAt: Instant | undefined;
}

/** Watches ranges that come and go, over one connection at a time: each new watch goes on where the last one was. */
export class Follower {
  readonly #options: FollowerOptions;
  #watch: EtcdWatch | undefined;
  #watched = new Set<string>();
  #timer: Timer | undefined;
  #pauseMs = shortestPauseMs;
  /** Everything before this revision was heard, as far as it was watched; of this one perhaps a part. */
  #next: number | undefined;
  /** That part. */
  readonly #heardOfNext = new Set<string>();
  #owed: Owed[] = [];
  #isBroken = false;
  /** What lies before is not kept any more; nobody can be told of it. */
  #compactedAt = 0;
  /** Something of the ranges may have happened before that. */
  #hasMissed = false;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    options.client.events.on('lost', () => this.#restart());
  }

  /** The ranges may have changed. */
  changed(): void {
    const { gatheringMs = usualGatheringMs } = this.#options;
    if (!this.#isClosed && !this.#isBroken) this.#timer ??= this.#followIn(gatheringMs());
  }

  /** What is added to the ranges now is to be heard from this revision on. What is heard already may be heard again. */
  hearFrom(revision: number): void {
    this.#owed.push({ from: revision + 1, isAsked: false, readyAt: undefined });
    // What is new did not hear it.
    if (revision < (this.#next ?? 0)) this.#heardOfNext.clear();
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
    const { client } = this.#options;
    const ranges = this.#options.ranges();
    // From where on, only matters when they are asked for.
    const wanted = new Set(ranges.map(({ key, end }) => JSON.stringify([key, end])));
    const isWatched = [...wanted].every((range) => this.#watched.has(range));
    // What is not wanted any more is told a little longer, and costs less than a new connection.
    if (isWatched && wanted.size > 0 && this.#watch !== undefined) {
      this.#owed = this.#owed.filter(({ isAsked }) => isAsked);
      return;
    }
    this.#watch?.stop();
    this.#watch = undefined;
    this.#watched = wanted;
    if (ranges.length === 0) {
      this.#forget();
      this.#isBroken = false;
      return;
    }
    const watch = new EtcdWatch({
      client,
      ranges: ranges.map((range) => this.#afterCompaction(range)),
      startRevision: this.#start(),
      onReady: (revision) => this.#ready(revision),
      onEvents: (events) => this.#heed(events),
      onEnd: (compactedAt) => this.#broken(watch, compactedAt),
    });
    this.#watch = watch;
  }

  /** A watch that asks for what is not kept any more would be ended again and again. */
  #afterCompaction(range: WatchedRange): WatchedRange {
    const { after } = range;
    if (after === undefined || after >= this.#compactedAt) return range;
    return { ...range, after: this.#compactedAt };
  }

  #start(): number | undefined {
    const now = this.#options.client.runtime.now();
    // Each range has a watch of its own, and is told of its past by itself: what another one has heard says nothing of that.
    this.#owed = this.#owed.filter(
      ({ readyAt }) => readyAt === undefined || elapsedMs(readyAt, now) < catchingUpMs,
    );
    for (const owed of this.#owed) owed.isAsked = true;
    const starts = this.#owed.map(({ from }) => from).concat(this.#next ?? []);
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  #heed(events: readonly EtcdEvent[]): void {
    const news = events.filter((event) => !this.#isRepeated(event));
    for (const event of news) this.#note(event);
    if (news.length > 0) this.#options.onEvents(news);
  }

  #note(event: EtcdEvent): void {
    const { modRevision } = event.keyValue;
    if (modRevision < (this.#next ?? 0)) return;
    if (modRevision !== this.#next) this.#heardOfNext.clear();
    this.#next = modRevision;
    this.#heardOfNext.add(idOf(event));
  }

  #isRepeated(event: EtcdEvent): boolean {
    return event.keyValue.modRevision === this.#next && this.#heardOfNext.has(idOf(event));
  }

  #forget(): void {
    this.#next = undefined;
    this.#heardOfNext.clear();
    this.#owed = [];
  }

  #ready(revision: number): void {
    if (this.#next !== undefined && revision < this.#next - 2) {
      // The cluster went back to an old snapshot: what was asked for lies in its future.
      this.#forget();
      this.#compactedAt = 0;
      this.#restart();
      return;
    }
    this.#next ??= revision + 1;
    const readyAt = this.#options.client.runtime.now();
    for (const owed of this.#owed) if (owed.isAsked) owed.readyAt ??= readyAt;
    this.#pauseMs = shortestPauseMs;
    if (!this.#isBroken) return;
    this.#isBroken = false;
    const hasMissed = this.#hasMissed;
    this.#hasMissed = false;
    this.#options.onAgain(hasMissed);
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
    if (compactedAt !== undefined) {
      this.#forget();
      this.#compactedAt = Math.max(this.#compactedAt, compactedAt);
      this.#hasMissed = true;
    }
    this.#timer?.cancel();
    const pauseMs = this.#pauseMs * (0.5 + this.#options.client.runtime.random() / 2);
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    this.#timer = this.#followIn(pauseMs);
  }
}

function idOf({ kind, keyValue: { key, modRevision } }: EtcdEvent): string {
  return `${kind} ${modRevision} ${key}`;
}
