import type { Coordinator } from '../../coordinators/index.js';
import type { Runtime } from '../../time/index.js';
import type { RenewalReport } from '../renewer.js';
import { Renewers } from '../renewers.js';
import type { FromThread, LeaseOrder, ThreadStart, ToThread } from './messages.js';
import { SharedRow } from './shared-row.js';
import { StallWatch } from './stall-watch.js';
import { ThreadLease, type ThreadLeaseHost } from './thread-lease.js';
import { toWire } from './wire-error.js';

/** Connecting may take its time; nothing waits for it. */
const warmUpLimitMs = 10_000;

export interface ThreadSideOptions {
  /** Its instants are those of the main thread's clock. */
  readonly runtime: Runtime;
  /** This thread's own; closed at the end. */
  readonly coordinator: Coordinator;
  readonly start: Pick<ThreadStart, 'pulse' | 'stallLimitMs' | 'onStall'>;
  readonly post: (message: FromThread) => void;
  readonly endProcess: () => void;
}

/** The renewing thread: renews what the main thread orders, for as long as that one turns. */
export class ThreadSide {
  readonly #options: ThreadSideOptions;
  readonly #leases = new Map<number, ThreadLease>();
  readonly #renewers: Renewers<ThreadLease>;
  readonly #watch: StallWatch;
  readonly #host: ThreadLeaseHost;
  #hasNews = false;

  constructor(options: ThreadSideOptions) {
    const { runtime, coordinator, start } = options;
    this.#options = options;
    this.#renewers = new Renewers(runtime, coordinator, (report) => this.#report(report));
    this.#watch = new StallWatch({
      runtime,
      pulse: new SharedRow(start.pulse),
      stallLimitMs: start.stallLimitMs,
      isFatal: start.onStall === 'exit',
      leases: () => this.#leases.values(),
      stalled: () => this.#stalled(),
    });
    this.#host = {
      runtime,
      doubted: (lease) => this.#renewers.demand(lease),
      turned: (lease) => {
        if (!lease.isAlive) this.#renewers.remove(lease);
        this.#tellOnce();
      },
    };
    this.#warmUp();
  }

  receive(message: Exclude<ToThread, { type: 'close' }>): void {
    if (message.type === 'add') {
      this.#add(message.order);
      return;
    }
    const lease = this.#leases.get(message.key);
    if (lease === undefined) return;
    if (message.type === 'remove') {
      this.#leases.delete(message.key);
      this.#renewers.remove(lease);
      if (this.#leases.size === 0) this.#watch.close();
    } else {
      if (message.metadata !== undefined) lease.changeMetadata(message.metadata);
      this.#renewers.demand(lease);
    }
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.#leases.clear();
    await this.#renewers.close();
    await this.#options.coordinator.close();
  }

  /** A first renewal that had to connect as well might run out of time, and put its leases in doubt. */
  #warmUp(): void {
    this.#options.coordinator.read(['tenure'], { timeoutMs: warmUpLimitMs }).catch(() => undefined);
  }

  #add(order: LeaseOrder): void {
    const lease = new ThreadLease(this.#host, order);
    this.#leases.set(order.key, lease);
    this.#renewers.add(lease);
    this.#watch.add(lease);
  }

  /** First of all the end of the process: until then nothing may go on. */
  #stalled(): void {
    if (this.#options.start.onStall === 'exit') this.#options.endProcess();
    for (const lease of this.#leases.values()) lease.apply({ type: 'ended', reason: 'stalled' });
  }

  #report(report: RenewalReport): void {
    const error = report.error === undefined ? undefined : toWire(report.error);
    this.#options.post({ type: 'attempt', ...report, error });
  }

  /** One message for all that changes in one turn. */
  #tellOnce(): void {
    if (this.#hasNews) return;
    this.#hasNews = true;
    queueMicrotask(() => {
      this.#hasNews = false;
      this.#options.post({ type: 'news' });
    });
  }
}
