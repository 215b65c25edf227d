import { setMaxListeners } from 'node:events';
import { type Holder, validateMetadata } from '../coordinators/index.js';
import type { Instant, Runtime, Timer } from '../time/index.js';
import {
  type EndReason,
  type LossAtStore,
  type OwnEndReason,
  validateOwnEndReason,
} from './end-reason.js';
import { LeaseEndedError, LeaseNotHeldError } from './lease-errors.js';
import { follow, type LedLife } from './led-life.js';
import {
  type Doubt,
  isAlive,
  type LeaseEvent,
  type LeaseLife,
  type LeaseState,
  look,
  remainingMs,
  step,
} from './machine.js';
import { type ResolvedTiming, validateHandoff } from './options.js';
import type { Wanted } from './particulars.js';

/** What a lease needs from the `Leases` it came from. */
export interface LeaseHost {
  readonly runtime: Runtime;
  /** What the thread that renews the lease has made of it since this was last asked. */
  newsOf(lease: Lease): LedLife | undefined;
  /** A renewal is wanted now: the lease has become uncertain, or its metadata has changed. */
  demandRenewal(lease: Lease): void;
  becameUncertain(lease: Lease, cause: Doubt['cause']): void;
  recovered(lease: Lease): void;
  /** Called once, after the state is final and the signal has aborted. */
  ended(lease: Lease, reason: EndReason): void;
  /** A fence refused what came under the lease; also after it has ended. */
  refused(lease: Lease, resource: string): void;
  release(lease: Lease): Promise<void>;
  handoff(lease: Lease, to: string, reserveMs: number): Promise<boolean>;
  /** The work of a lost lease has stopped: its record, if any is left, can go. */
  letGo(lease: Lease): void;
}

export interface LeaseGrant {
  readonly wanted: Wanted;
  readonly holder: Holder;
  readonly term: number;
  readonly timing: ResolvedTiming;
  /** When the request that was granted was sent. */
  readonly sentAt: Instant;
}

/**
 * Ownership of a name for one term, renewed until it is released or lost.
 *
 * Every getter asks the clock, so it is right even if no timer had a chance to run since the process was frozen. A
 * lease alone is not mutual exclusion: a frozen owner may believe for a moment after it wakes. Take `term` along on
 * every write and let a fence refuse the stale one.
 */
export class Lease implements AsyncDisposable {
  readonly name: string;
  readonly holder: Holder;
  /** The fencing token: a safe integer, higher for every later owner of this name. Constant for this lease. */
  readonly term: number;
  readonly timing: ResolvedTiming;
  /** The lock-delay that follows if the lease is lost, and expires. */
  readonly graceAfterLossMs: number;
  readonly #host: LeaseHost;
  #life: LeaseLife;
  #metadata: string | undefined;
  #metadataChanged = false;
  #deadline: Timer | undefined;
  #controller: AbortController | undefined;
  #giveBack: Promise<void> | undefined;
  #installedTerm: number | undefined;

  constructor(host: LeaseHost, grant: LeaseGrant) {
    this.#host = host;
    this.name = grant.wanted.name;
    this.holder = grant.holder;
    this.term = grant.term;
    this.timing = grant.timing;
    this.graceAfterLossMs = grant.wanted.graceAfterLossMs ?? 0;
    this.#metadata = grant.wanted.metadata;
    this.#life = {
      state: 'held',
      anchor: grant.sentAt,
      heldForMs: grant.timing.giveUpAfterMs,
      acquiredAt: grant.sentAt,
      maxHoldMs: grant.wanted.maxHoldMs ?? Number.POSITIVE_INFINITY,
      wallToleranceMs: Math.max(50, Math.min(1000, grant.timing.ttlMs / 20)),
      doubt: undefined,
      endReason: undefined,
    };
    this.#armDeadline();
  }

  /** `held`, `uncertain` (begin nothing new), or for good `lost` or `released`. */
  get state(): LeaseState {
    return this.#look().state;
  }

  /**
   * Milliseconds (monotonic, suspend included) until the lease is given up, unless a renewal moves that away, or because
   * it was held for `maxHoldMs`; 0 once it ended.
   */
  get remainingMs(): number {
    return remainingMs(this.#look(), this.#host.runtime.now());
  }

  /** Why the lease ended, or `undefined` while it has not. */
  get endReason(): EndReason | undefined {
    return this.#look().endReason;
  }

  /**
   * Aborts when the lease ends, before the store can give the name away, with a {@link LeaseEndedError} as its reason.
   * Hand it to everything the work awaits.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      // One lease may guard any number of concurrent requests; Node warns from the eleventh listener on.
      setMaxListeners(0, this.#controller.signal);
      this.#look();
      this.#abortIfEnded();
    }
    return this.#controller.signal;
  }

  /** Call before each new piece of work and each write. @throws {LeaseNotHeldError} unless the state is `held`. */
  assertHeld(): void {
    const { state, endReason } = this.#look();
    if (state !== 'held') throw new LeaseNotHeldError(this.name, this.term, state, endReason);
  }

  /**
   * JSON text of at most 4 KiB that others see beside the lease; written with a renewal that is sent at once.
   *
   * @throws {OptionError} if it is set to anything else.
   */
  get metadata(): string | undefined {
    return this.#metadata;
  }

  set metadata(text: string) {
    validateMetadata(text);
    this.#metadata = text;
    this.#metadataChanged = true;
    this.#host.demandRenewal(this);
  }

  /**
   * Gives the name back, after the work has stopped. Never throws: a store that cannot be reached lets the name expire.
   * Resolves at once if the lease had already ended: that says its work has stopped, and what is left of it can go, but a
   * lease with a lock-delay only if it was ended by decision (`revoked`, `max-hold`, `shutdown`). Repeating it returns the
   * first call's promise.
   */
  release(): Promise<void> {
    if (this.#giveBack !== undefined) return this.#giveBack;
    if (isAlive(this.#look())) {
      this.apply({ type: 'released', reason: 'released' });
      this.#giveBack = this.#host.release(this);
    } else {
      this.#giveBack = Promise.resolve();
      this.#host.letGo(this);
    }
    return this.#giveBack;
  }

  /**
   * Gives the name to the holder id `to`, after the work has stopped: nobody else may acquire it during `reserveMs`
   * (1 ms to 24 h; default: the ttl). `false` if the lease had ended or the store did not confirm;
   * of the latter, `endReason` says `handed-off` none the less, and the history what the store knows (`revoked`, say).
   *
   * @throws {OptionError} for an id or a duration that is none; the lease goes on. Never throws otherwise.
   */
  async handoff(to: string, reserveMs = this.timing.ttlMs): Promise<boolean> {
    validateHandoff(to, reserveMs);
    if (this.#giveBack !== undefined || !isAlive(this.#look())) return false;
    this.apply({ type: 'released', reason: 'handed-off' });
    const done = this.#host.handoff(this, to, reserveMs);
    const over = () => undefined;
    this.#giveBack = done.then(over, over);
    return done;
  }

  /**
   * A fence or another witness has seen a newer owner: this term is over, at once and for good. A fence that refuses a
   * lease calls this itself.
   *
   * @param installedTerm the term that was in the way, where it is known: see {@link installedTerm}.
   * @param reason what the store says, if the witness has looked there. Default `superseded`.
   * @param resource the kind of resource whose fence refused it; `undefined`: nothing was refused. Told as `refused` each time, also
   * after the lease has ended.
   */
  supersede(installedTerm?: number, reason: LossAtStore = 'superseded', resource?: string): void {
    // Before anybody hears of the end: who then asks for the next lease is to know how high.
    if (isAlive(this.#look())) this.#installedTerm = installedTerm;
    this.apply({ type: 'not-yours', reason });
    if (resource !== undefined) this.#host.refused(this, resource);
  }

  /**
   * The term that a fence had installed when it ended this lease by refusing it; else `undefined`. If it is higher than
   * what the store grants, the store has lost its terms: acquire anew `above` it.
   */
  get installedTerm(): number | undefined {
    return this.#installedTerm;
  }

  /**
   * Ends the lease from this side although its work may still run: the signal aborts, and nothing renews it.
   *
   * @throws {OptionError} for another reason; the lease goes on.
   */
  end(reason: OwnEndReason): void {
    validateOwnEndReason(reason);
    this.apply({ type: 'ended', reason });
  }

  /** `await using lease = ...` releases it at the end of the block (Node 24 and later; use try/finally on Node 20). */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** @internal One event from the renewal or the store. State first, then signal, then listeners. */
  apply(event: LeaseEvent): void {
    this.hear();
    this.#become(step(this.#life, event, this.#host.runtime.now()));
  }

  /** @internal If another thread renews the lease, what that has made of it counts before anything here does. */
  hear(): void {
    const led = this.#host.newsOf(this);
    if (led !== undefined) this.#become(follow(this.#life, led, this.#host.runtime.now()));
  }

  /** @internal What the next renewal has to carry; taken once, unless `unsent` gives it back. */
  takeChangedMetadata(): string | undefined {
    const metadata = this.#metadataChanged ? this.#metadata : undefined;
    this.#metadataChanged = false;
    return metadata;
  }

  /** @internal The renewal that carried the metadata was not confirmed. */
  metadataUnsent(): void {
    this.#metadataChanged = true;
  }

  /** @internal */
  get life(): LeaseLife {
    return this.#life;
  }

  /** @internal */
  get anchor(): Instant {
    return this.#life.anchor;
  }

  #look(): LeaseLife {
    this.hear();
    const life = look(this.#life, this.#host.runtime.now());
    if (life !== this.#life) this.#become(life);
    return this.#life;
  }

  #become(next: LeaseLife): void {
    const previous = this.#life;
    this.#life = next;
    // A new doubt wants a renewal sent after it, also while an older one has not been cleared yet.
    if (next.doubt !== undefined && next.doubt !== previous.doubt) this.#host.demandRenewal(this);
    if (next.state === previous.state) return;
    if (isAlive(next)) {
      if (next.doubt !== undefined) this.#host.becameUncertain(this, next.doubt.cause);
      else this.#host.recovered(this);
      return;
    }
    this.#deadline?.cancel();
    this.#abortIfEnded();
    if (next.endReason !== undefined) this.#host.ended(this, next.endReason);
  }

  #abortIfEnded(): void {
    const reason = this.#life.endReason;
    if (reason === undefined || this.#controller === undefined || this.#controller.signal.aborted)
      return;
    this.#controller.abort(new LeaseEndedError(this.name, this.term, reason));
  }

  /** A renewal only moves the deadline back, so the timer may fire early; then it is set to what is left. */
  #armDeadline(): void {
    const now = this.#host.runtime.now();
    this.#deadline = this.#host.runtime.setTimer(remainingMs(this.#life, now), () => {
      if (isAlive(this.#look())) this.#armDeadline();
    });
  }
}
