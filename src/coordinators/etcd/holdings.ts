import { elapsedMs, type Instant, type Runtime, type Timer } from '../../time/index.js';
import type { EnrollRequest } from '../candidates.js';
import type { AcquireRequest } from '../contract.js';
import type { Holder } from '../holder.js';

/** Something of this coordinator's in the store that ends by itself, at the latest with its store lease. */
export type Holding = HeldLease | HeldEntry | Following | Doubt;

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
  /** Of the key, when it was last seen as it should be. */
  readonly modRevision: number;
  /** In this revision of the store it was there. */
  seenRevision: number;
  /** It is being given back, or ended: that its key is gone is no news. */
  isLeaving: boolean;
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

/** What may have been written, or may be yet: when its time is over, it is looked whether it was. */
export interface Doubt extends Timed {
  readonly kind: 'doubt';
  readonly holder: Holder;
  /** Of the acquisition; `undefined`: it is the entry under `key`. */
  readonly attempt: string | undefined;
  /** Nothing of it was sent later. */
  readonly sentBy: Instant;
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
  readonly #retries = new Map<string, Timer>();
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
    const id = idOf(holding);
    this.#byId.set(id, holding);
    // Something new stands there.
    this.#dropEnding(id);
    this.#armFor(holding);
  }

  /** An acquisition that may have been executed, or may be yet. */
  doubtLease({ name, holder, attempt, ttlMs: lifeMs }: DoubtfulLease): void {
    this.#doubt({ name, key: `${name} ${attempt}`, lifeMs, holder, attempt });
  }

  /** An entry of which the same is to be said. */
  doubtEntry({ name, holder, ttlMs: lifeMs }: EnrollRequest, key: string): void {
    this.#doubt({ name, key, lifeMs, holder, attempt: undefined });
  }

  #doubt(parts: Pick<Doubt, 'name' | 'key' | 'lifeMs' | 'holder' | 'attempt'>): void {
    const sentBy = this.#runtime.now();
    const doubt: Doubt = { kind: 'doubt', leaseId: '', from: sentBy, sentBy, ...parts };
    // To ask again extends nothing.
    const from = this.#byId.get(idOf(doubt))?.from ?? sentBy;
    this.note({ ...doubt, from });
  }

  /** It has been extended just now; in this revision it was as it should be. */
  extendLease(holding: HeldLease, revision: number): void {
    holding.from = this.#runtime.now();
    holding.seenRevision = Math.max(holding.seenRevision, revision);
    holding.isLeaving = false;
  }

  /** Its key is to be deleted by a request of this coordinator. */
  leaving(name: string, key: string): void {
    const lease = this.leaseOf(name);
    if (lease?.key === key) lease.isLeaving = true;
  }

  /** What stood under this key is gone; nothing is said of what has taken its place since. */
  forget(kind: Holding['kind'], name: string, key: string): void {
    const id = idOf({ kind, name, key });
    if (this.#byId.get(id)?.key === key) this.#byId.delete(id);
    if (this.#ending.get(id)?.key === key) this.#dropEnding(id);
  }

  knowsEntry(name: string, key: string): boolean {
    return this.#byId.has(idOf({ kind: 'candidate', name, key }));
  }

  /** Nothing new has taken its place since its end began. */
  isEnding(holding: Holding): boolean {
    return this.#ending.get(idOf(holding)) === holding;
  }

  leaseOf(name: string): HeldLease | undefined {
    return this.#byId.get(idOf({ kind: 'lease', name, key: '' })) as HeldLease | undefined;
  }

  /** All that are held, the longest held first. */
  leases(): HeldLease[] {
    return [...this.#byId.values()].filter((holding) => holding.kind === 'lease');
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
    for (const timer of this.#retries.values()) timer.cancel();
    this.#byId.clear();
    this.#ending.clear();
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
      this.#beginEnd(id, holding);
    }
  }

  #beginEnd(id: string, holding: Holding): void {
    this.#ending.set(id, holding);
    this.#end(holding).then(
      () => this.isEnding(holding) && this.#dropEnding(id),
      () => this.isEnding(holding) && this.#endLater(id, holding),
    );
  }

  /** Its time stays over meanwhile. */
  #endLater(id: string, holding: Holding): void {
    const end = () => {
      this.#retries.delete(id);
      this.#beginEnd(id, holding);
    };
    this.#retries.set(id, this.#runtime.setTimer(retryMs, end, { keepsProcessAlive: false }));
  }

  #dropEnding(id: string): void {
    this.#ending.delete(id);
    this.#retries.get(id)?.cancel();
    this.#retries.delete(id);
  }
}

type DoubtfulLease = Pick<AcquireRequest, 'name' | 'holder' | 'attempt' | 'ttlMs'>;

/** One lease a name; entries and what follows by their keys. */
function idOf({ kind, name, key }: Pick<Holding, 'kind' | 'name' | 'key'>): string {
  return kind === 'lease' ? `lease ${name}` : `${kind} ${key}`;
}
