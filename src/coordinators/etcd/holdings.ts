import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import type { AcquireRequest } from '../contract.js';
import type { Holder } from '../holder.js';

/** Something of this coordinator's in the store that ends by itself, at the latest with its store lease. */
export type Holding = HeldLease | HeldEntry | Following;

interface Timed {
  readonly name: string;
  readonly key: string;
  readonly leaseId: string;
  /** From the last answer on. */
  from: Instant;
  readonly lifeMs: number;
}

export interface HeldLease extends Timed {
  readonly kind: 'lease';
  readonly holder: Holder;
  readonly attempt: string;
  readonly term: number;
  readonly graceMs: number;
  /** Of the store lease that the lock-delay hangs on while the lease is held. */
  readonly guardId: string | undefined;
  /** Of the key, when it was last seen as it should be; -1: it may not be there. */
  readonly modRevision: number;
}

export interface HeldEntry extends Timed {
  readonly kind: 'candidate';
  readonly holder: Holder;
}

/** A lock-delay or a reservation. */
export interface Following extends Timed {
  readonly kind: 'after';
  readonly modRevision: number;
}

/** A store that cannot be reached is asked again after this. */
const retryMs = 250;

/**
 * What this coordinator has to end in the store when its time is over.
 *
 * Store leases count whole seconds and are shared, so they only end what a process leaves behind that has died or was cut
 * off. What a living one does not renew, it removes by itself, to the millisecond.
 */
export class Holdings {
  readonly #runtime: Runtime;
  readonly #end: (holding: Holding) => Promise<void>;
  readonly #byId = new Map<string, Holding>();
  /** Those whose end is on its way to the store. */
  readonly #ending = new Map<string, Holding>();
  #timer: Timer | undefined;
  #dueInMs = Number.POSITIVE_INFINITY;
  #armedAt: Instant | undefined;
  #isClosed = false;

  constructor(runtime: Runtime, end: (holding: Holding) => Promise<void>) {
    this.#runtime = runtime;
    this.#end = end;
  }

  note(holding: Holding): void {
    if (this.#isClosed) return;
    this.#byId.set(idOf(holding), holding);
    this.#armFor(holding);
  }

  /** An acquisition that may be executed yet: when its time is over, it is looked whether it was. */
  suspect({ name, holder, attempt, ttlMs: lifeMs }: AcquireRequest): void {
    if (this.leaseOf(name) !== undefined) return;
    const place = { key: '', leaseId: '', from: this.#runtime.now(), lifeMs };
    const lease = { term: 0, graceMs: 0, guardId: undefined, modRevision: -1 };
    this.note({ kind: 'lease', name, holder, attempt, ...place, ...lease });
  }

  /** It has been extended just now. */
  extend(holding: Holding): void {
    holding.from = this.#runtime.now();
  }

  forget(kind: Holding['kind'], name: string, key: string): void {
    this.#byId.delete(idOf({ kind, name, key }));
  }

  leaseOf(name: string): HeldLease | undefined {
    return this.#byId.get(idOf({ kind: 'lease', name, key: '' })) as HeldLease | undefined;
  }

  /** The store leases that names are held by. */
  leaseIds(): readonly string[] {
    const ids = new Set<string>();
    for (const { kind, leaseId } of this.#byId.values())
      if (kind === 'lease' && leaseId !== '') ids.add(leaseId);
    return [...ids].sort();
  }

  /** Also one that is being ended. */
  lastLeaseOf(name: string): HeldLease | undefined {
    const ending = this.#ending.get(idOf({ kind: 'lease', name, key: '' }));
    return this.leaseOf(name) ?? (ending as HeldLease | undefined);
  }

  isOver({ from, lifeMs }: Holding): boolean {
    return elapsedMs(from, this.#runtime.now()) >= lifeMs;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#byId.clear();
  }

  #armFor({ from, lifeMs }: Holding): void {
    const now = this.#runtime.now();
    const dueInMs = Math.max(0, lifeMs - elapsedMs(from, now));
    const armedForMs =
      this.#armedAt === undefined
        ? Number.POSITIVE_INFINITY
        : this.#dueInMs - elapsedMs(this.#armedAt, now);
    if (dueInMs >= armedForMs) return;
    this.#arm(dueInMs, now);
  }

  #arm(dueInMs: number, now: Instant): void {
    this.#timer?.cancel();
    this.#armedAt = now;
    this.#dueInMs = dueInMs;
    this.#timer = this.#runtime.setTimer(dueInMs, () => this.#endDue(), {
      keepsProcessAlive: false,
    });
  }

  #endDue(): void {
    this.#armedAt = undefined;
    for (const [id, holding] of [...this.#byId]) {
      if (!this.isOver(holding)) {
        this.#armFor(holding);
        continue;
      }
      this.#byId.delete(id);
      this.#ending.set(id, holding);
      this.#end(holding)
        .catch(() => this.#retry(id, holding))
        .finally(() => {
          if (this.#ending.get(id) === holding) this.#ending.delete(id);
        });
    }
  }

  /** Unless something new stands there by now. */
  #retry(id: string, holding: Holding): void {
    if (this.#isClosed || this.#byId.has(id)) return;
    this.note({ ...holding, from: this.#runtime.now(), lifeMs: retryMs });
  }
}

/** One lease a name; entries and what follows by their keys. */
function idOf({ kind, name, key }: Pick<Holding, 'kind' | 'name' | 'key'>): string {
  return kind === 'lease' ? `lease ${name}` : `${kind} ${key}`;
}
