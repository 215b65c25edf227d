import { Holder } from '../../coordinators/index.js';
import type { Instant, Runtime } from '../../time/index.js';
import type { EndReason } from '../end-reason.js';
import { encodeLife } from '../led-life.js';
import { isAlive, type LeaseEvent, type LeaseLife, look, remainingMs, step } from '../machine.js';
import type { ResolvedTiming } from '../options.js';
import type { Renewable } from '../renewal.js';
import type { LeaseOrder } from './messages.js';
import { SharedRow } from './shared-row.js';

/** What a lease in the renewing thread reports, after its row says so. */
export interface ThreadLeaseHost {
  readonly runtime: Runtime;
  /** In doubt for a new reason: renew now. */
  doubted(lease: ThreadLease): void;
  /** Its state is another one. */
  turned(lease: ThreadLease): void;
}

/**
 * The counterpart of a lease in the thread that renews it: it lives the same life by the same rules, and writes what
 * becomes of it into a row that the main thread reads whenever it looks at the lease.
 */
export class ThreadLease implements Renewable {
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
  readonly timing: ResolvedTiming;
  readonly #host: ThreadLeaseHost;
  readonly #row: SharedRow;
  #life: LeaseLife;
  #changedMetadata: string | undefined;
  #sentMetadata: string | undefined;

  constructor(host: ThreadLeaseHost, order: LeaseOrder) {
    const holder = Holder.parse(order.holder);
    if (holder === undefined) throw new Error(`no holder came with the lease of "${order.name}"`);
    this.name = order.name;
    this.holder = holder;
    this.term = order.term;
    this.timing = order.timing;
    this.#host = host;
    this.#row = new SharedRow(order.row);
    this.#life = order.life;
  }

  get anchor(): Instant {
    return this.#life.anchor;
  }

  get isAlive(): boolean {
    return isAlive(this.#look());
  }

  get endReason(): EndReason | undefined {
    return this.#look().endReason;
  }

  get remainingMs(): number {
    return remainingMs(this.#look(), this.#host.runtime.now());
  }

  apply(event: LeaseEvent): void {
    this.#become(step(this.#life, event, this.#host.runtime.now()));
  }

  changeMetadata(text: string): void {
    this.#changedMetadata = text;
  }

  takeChangedMetadata(): string | undefined {
    this.#sentMetadata = this.#changedMetadata;
    this.#changedMetadata = undefined;
    return this.#sentMetadata;
  }

  metadataUnsent(): void {
    this.#changedMetadata ??= this.#sentMetadata;
  }

  #look(): LeaseLife {
    this.#become(look(this.#life, this.#host.runtime.now()));
    return this.#life;
  }

  #become(next: LeaseLife): void {
    const previous = this.#life;
    if (next === previous) return;
    this.#life = next;
    this.#row.write(encodeLife(next));
    if (next.doubt !== undefined && next.doubt !== previous.doubt) this.#host.doubted(this);
    if (next.state !== previous.state) this.#host.turned(this);
  }
}
