import { ClosedError } from '../../errors/index.js';
import { clockOriginMs, type Runtime } from '../../time/index.js';
import type { Lease } from '../lease.js';
import { encodeLife, type LedLife } from '../led-life.js';
import type { ResolvedTiming } from '../options.js';
import type { Renewal } from '../renewal.js';
import { nearestDeadline, type RenewalReport } from '../renewer.js';
import { endProcess } from './end-process.js';
import { FollowedLease } from './followed-lease.js';
import { Heartbeat } from './heartbeat.js';
import type { FromThread } from './messages.js';
import { checkTiming, type ThreadRenewalSettings } from './options.js';
import { SharedRow } from './shared-row.js';
import { type StartThread, ThreadLink } from './thread-link.js';
import { fromWire } from './wire-error.js';
import { startWorkerThread } from './worker-thread.js';

export interface ThreadRenewalOptions {
  readonly runtime: Runtime;
  readonly settings: ThreadRenewalSettings;
  readonly onAttempt: (report: RenewalReport) => void;
  /** Default: a worker of this process. */
  readonly startThread?: StartThread;
  /** Default: SIGKILL. */
  readonly endProcess?: () => void;
}

/**
 * Renewal from another thread, as the main thread sees it.
 *
 * The other thread lives the life of each lease and writes it into shared memory; whenever the main thread looks at a
 * lease, it reads that first, without a message. Messages only wake: they make events fire soon although nobody looks. A
 * heartbeat shows the other thread that this one turns.
 */
export class ThreadRenewal implements Renewal<Lease> {
  readonly #options: ThreadRenewalOptions;
  readonly #leases = new Map<Lease, FollowedLease>();
  readonly #heart: Heartbeat;
  #link: ThreadLink | undefined;
  #nextKey = 0;
  #isClosed = false;

  constructor(options: ThreadRenewalOptions) {
    this.#options = options;
    this.#heart = new Heartbeat({
      runtime: options.runtime,
      limitMs: options.settings.stallLimitMs,
      onStall: () => this.#stalled(),
      onTurn: () => this.#hearAll(),
    });
  }

  get leases(): Lease[] {
    return [...this.#leases.keys()];
  }

  /** @throws {OptionError} for a timing that cannot be kept. {@link UnreachableError} if no thread can be started. */
  ready(timing: ResolvedTiming): Promise<void> | undefined {
    checkTiming(timing, this.#options.settings);
    const link = this.#currentLink();
    return link.isReady ? undefined : link.ready;
  }

  add(lease: Lease): void {
    const link = this.#currentLink();
    const { name, holder, term, timing, life } = lease;
    const row = SharedRow.create(encodeLife(life));
    const key = this.#nextKey++;
    const followed = new FollowedLease(key, row, link);
    this.#heart.start();
    this.#leases.set(lease, followed);
    const order = { key, name, holder: holder.wire, term, timing, life, row: row.buffer };
    if (link.hasEnded) followed.abandon(this.#options.runtime.now());
    else link.post({ type: 'add', order });
  }

  remove(lease: Lease): void {
    const followed = this.#leases.get(lease);
    if (followed === undefined) return;
    this.#leases.delete(lease);
    followed.link.post({ type: 'remove', key: followed.key });
    if (this.#leases.size === 0) this.#heart.stop();
  }

  demand(lease: Lease): void {
    const followed = this.#leases.get(lease);
    if (followed === undefined) return;
    const metadata = lease.takeChangedMetadata();
    followed.link.post({ type: 'demand', key: followed.key, metadata });
  }

  /** What has become of a lease that this thread has not heard yet. To be asked before each look at it. */
  newsOf(lease: Lease): LedLife | undefined {
    const followed = this.#leases.get(lease);
    if (followed === undefined) return undefined;
    this.#heart.judge();
    return followed.news();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#heart.stop();
    this.#leases.clear();
    await this.#link?.close();
  }

  #currentLink(): ThreadLink {
    if (this.#isClosed) throw new ClosedError('the set of leases');
    this.#link ??= this.#startLink();
    return this.#link;
  }

  #startLink(): ThreadLink {
    const { runtime, settings, startThread = startWorkerThread } = this.#options;
    const pulse = this.#heart.pulse.buffer;
    const start = { ...settings, pulse, clockOriginMs: clockOriginMs() };
    const link: ThreadLink = new ThreadLink(runtime, startThread, start, {
      heard: (message) => this.#heard(message),
      ended: (error) => this.#ended(link, error),
    });
    return link;
  }

  #heard(message: FromThread): void {
    this.#hearAll();
    if (message.type !== 'attempt') return;
    const { type: _, error, ...report } = message;
    this.#options.onAttempt({ ...report, error: error && fromWire(error) });
  }

  #hearAll(): void {
    for (const lease of this.leases) lease.hear();
  }

  /** Each lease learns it when it is looked at, the first of them in this very moment. */
  #stalled(): void {
    const { settings, endProcess: end = endProcess } = this.#options;
    if (settings.onStall === 'exit') end();
    for (const followed of this.#leases.values()) followed.stall();
  }

  #ended(link: ThreadLink, error: Error): void {
    if (this.#link === link) this.#link = undefined;
    const now = this.#options.runtime.now();
    const abandoned = [...this.#leases].filter(([, followed]) => followed.link === link);
    const leases = abandoned.map(([lease]) => lease);
    for (const [, followed] of abandoned) followed.abandon(now);
    this.#hearAll();
    const leaseCount = leases.length;
    if (leaseCount === 0) return;
    const nearest = nearestDeadline(leases, now);
    const shortestRemainingMs = Math.max(0, nearest.shortestRemainingMs);
    const report = { leaseCount, roundTripMs: 0, lateMs: 0, error };
    this.#options.onAttempt({ ...report, ...nearest, shortestRemainingMs });
  }
}
