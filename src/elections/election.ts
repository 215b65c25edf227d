import type { Act, LeaseRecord } from '../coordinators/index.js';
import { requireAct } from '../coordinators/requests.js';
import { type Known, requireFunction, requireKnown, requireSignal } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { EventSource, Unsubscribe } from '../events/index.js';
import type { EndReason, Lease, Leases } from '../leases/index.js';
import { validateHandoff } from '../leases/options.js';
import { requireWaitOptions } from '../leases/waits.js';
import { Announcer } from './announcer.js';
import { Candidacy } from './candidacy.js';
import { type ElectionCandidate, withLeader } from './candidates.js';
import type { ElectionEvents } from './events.js';
import { type ElectionHistoryEntry, withVacancies } from './history.js';
import type { Work } from './led-term.js';
import type { Leadership } from './observation.js';
import { Observations } from './observations.js';
import type { ResolvedElectionOptions } from './options.js';
import { Presence } from './presence.js';
import { LeadershipReader } from './reader.js';
import { UnheardWork, type WorkHeardElsewhere } from './unheard-work.js';

export interface StopOptions {
  /** Ends it. */
  readonly signal?: AbortSignal;
}

export interface CampaignOptions extends StopOptions {
  /** How long to wait until this process is elected, in milliseconds. Default `Infinity`; 0 tries once. */
  readonly waitMs?: number;
}

export interface ElectionRevocation extends Act {
  /** The term that is meant: nothing is done if another one stands there by now. Default: whichever does. */
  readonly term?: number;
  /** The holder id that alone may be elected next. */
  readonly to?: string;
  /** For how long after the term has ended. Only with `to`. 1 ms to 24 h; default the ttl. */
  readonly reserveMs?: number;
}

const revocationKeys: Known<ElectionRevocation> = {
  ...{ by: true, reason: true, term: true, to: true, reserveMs: true },
};

/**
 * The election of one leader for a name, as one process takes part in it. Made by `Elections.election`.
 *
 * To lead is not mutual exclusion: a process can freeze, wake, and still believe. Pass `lease.term` along on every write,
 * and let a fence refuse the stale one.
 */
export class Election {
  readonly #leases: Leases;
  readonly #options: ResolvedElectionOptions;
  readonly #announcer = new Announcer();
  readonly #unheard: UnheardWork;
  readonly #candidacy: Candidacy;
  readonly #reader: LeadershipReader;
  readonly #presence: Presence;

  /** @internal */
  constructor(leases: Leases, options: ResolvedElectionOptions) {
    this.#leases = leases;
    this.#options = options;
    const announcer = this.#announcer;
    const presence = new Presence(leases, options);
    this.#presence = presence;
    const unheard = new UnheardWork(options.name, announcer.events);
    this.#unheard = unheard;
    this.#candidacy = new Candidacy({ leases, options, announcer, presence, unheard });
    this.#reader = new LeadershipReader({
      leases,
      name: options.name,
      pollMs: options.timing.renewEveryMs,
      presence: options.eligible ? undefined : presence,
    });
  }

  get name(): string {
    return this.#options.name;
  }

  get events(): EventSource<ElectionEvents> {
    return this.#announcer.events;
  }

  /** @internal As `events.on`, for who is no reason to be silent towards a user. */
  overhear<Name extends keyof ElectionEvents>(
    name: Name,
    listener: (event: ElectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#announcer.events.overhear(name, listener);
  }

  /** @internal As {@link campaign}, and outlasts what {@link lead} outlasts. */
  async campaignOn(
    waitMs: number,
    signal: AbortSignal,
    hasLed: boolean,
  ): Promise<Lease | undefined> {
    signal.throwIfAborted();
    return this.#candidacy.campaign({ waitMs, signal, outlasts: { hasLed } });
  }

  /** @internal Tells that the work of a term has failed that somebody campaigned for, and works by. */
  workFailed(term: number, error: Error): void {
    this.#announcer.tell('workFailed', { term, error });
  }

  /** @internal The work is not the user's own: of its failures they hear there. */
  workIsHeardBy(elsewhere: WorkHeardElsewhere): void {
    this.#unheard.isHeardBy(elsewhere);
  }

  /** @internal A campaign of this process stands in the queue, by the word of the store. */
  onAdmitted(listener: () => void): Unsubscribe {
    return this.#announcer.admissions.on('admitted', listener);
  }

  /** The lease by which this process leads, by the clock; `undefined` if it does not. */
  get current(): Lease | undefined {
    return this.#candidacy.current.lease;
  }

  /**
   * Waits until this process is elected; `undefined` if `waitMs` passed before. It leads until the lease ends: release it,
   * or call {@link resign}, when its work has stopped. For a piece of work that is to run whenever this process leads, use
   * {@link lead}.
   *
   * One campaign at a time. What is repeated meanwhile because the store gave no answer is told by `campaignFailed`.
   *
   * @throws {OptionError} for a `waitMs` below 0 or a `signal` that is none, and if this process is not eligible.
   * {@link CampaignUnderWayError} while another campaign or `lead`
   * is under way, this process leads, or work of an earlier term still runs. {@link StoreMisconfiguredError},
   * {@link RecordCorruptError}; the last error of the store if `waitMs` passed without an answer. {@link ClosedError}
   * after a close, or if one ends it. Or `signal`'s reason: nothing is held or left behind then, so it comes when the
   * request under way and the withdrawal have been answered, or their limits are over (twice `attemptTimeoutMs` at most: 5 s
   * with the default ttl).
   */
  async campaign(options: CampaignOptions = {}): Promise<Lease | undefined> {
    requireWaitOptions(requireKnown('options', options, { signal: true, waitMs: true }));
    const { waitMs = Number.POSITIVE_INFINITY, signal } = options;
    signal?.throwIfAborted();
    return this.#candidacy.campaign({ waitMs, signal });
  }

  /**
   * Does `work` whenever this process leads, and is a candidate otherwise, until `signal` aborts.
   *
   * - **It leads until `work` settles.** `work` gets its lease and `stopping`. If it throws (`workFailed`) or returns by
   *   itself (`workReturned`), the name is given back once and others may lead; this process is a candidate again after a
   *   pause that grows while that keeps happening, or terms end as `superseded`. Any other end but `expired` and
   *   `unreachable` is followed by a short pause too.
   * - **One work at a time.** After a loss, the next campaign begins when `work` has settled. If it has not `drainMs` after
   *   it was told to stop, `workOverdue` tells.
   * - **`signal`** ends a pause at once, and a campaign when the request under way and the withdrawal have been answered, or
   *   their limits are over: up to twice `attemptTimeoutMs` at a store that does not answer. While leading, `stopping` aborts, renewals go on, and the name is given back
   *   when `work` has settled. After `drainMs` the lease is ended instead (`shutdown`, and `lease.signal` aborts); work that
   *   then does not settle within what ttl and `giveUpAfterMs` leave it (a third of the ttl) is left alone, and the call
   *   rejects with {@link WorkOverdueError}: end the process. Its lease expires, and a lock-delay follows if there is one, unless the work stops before.
   *
   * Resolves with what `work` returned after it had been told to stop by `signal` or a close; `undefined` if there was none.
   * Errors of the store are tried again for ever (`campaignFailed`), whatever they are once this process has led or has stood in
   * the queue: who stands by when a password changes goes on when the new one works.
   *
   * @throws {OptionError} if this process is not eligible. {@link CampaignUnderWayError} as {@link campaign}. Before it
   * has led or stood in the queue {@link StoreMisconfiguredError} and {@link RecordCorruptError}. {@link ClosedError} if the leases or
   * the coordinator are closed meanwhile. {@link WorkOverdueError}. Never what `work` throws.
   */
  async lead<T>(work: Work<T>, options: StopOptions = {}): Promise<T | undefined> {
    const { signal } = requireStopOptions(options);
    requireFunction('work', work, 'pass async (lease) => { ... }');
    return this.#candidacy.lead(work, signal);
  }

  /**
   * Who leads, now and whenever that changes, until `signal` aborts, the loop is left, or the elections are closed.
   *
   * It never says more than it knows: what the store answered is good for as long as the store then let the lease live;
   * after that, or when the store does not answer, it is `unsure`. Terms never fall, no state comes twice in a row, and a
   * slow reader gets the newest state, not every one in between. All observers of this object share one reader. To know
   * whether this process may act, ask its lease.
   *
   * @throws {ClosedError} from `next()` if the coordinator is closed.
   */
  observe(options: StopOptions = {}): AsyncIterableIterator<Leadership, undefined> {
    return new Observations(this.#reader, requireStopOptions(options).signal);
  }

  /**
   * Gives the leadership up: the work is asked to stop, the lease renewed meanwhile and released once it has stopped. This
   * process stays a candidate if it is in `lead`. For leaving altogether, abort the signal of `lead`. Work that awaited it
   * would wait for itself, until `drainMs` is over: it returns instead.
   *
   * Resolves with whether it was this process that gave it up; with `false`, at once, if it does not lead, or as soon as
   * the lease is lost or the work has overrun `drainMs`. Never rejects. Called twice, both wait for the one release.
   */
  resign(): Promise<boolean> {
    return this.#candidacy.giveBack({ cause: 'resign' });
  }

  /**
   * As {@link resign}, but the name is kept for the holder id `to` during `reserveMs` (1 ms to 24 h; default the ttl).
   * Whether `to` is alive is not asked: see {@link candidates}. If it is not, the reservation ends by itself.
   *
   * `true` if the store confirmed it. If it did not, the lease has ended all the same: `resigned` and its end reason say
   * `handed-off`, the history what the store knows, such as `revoked` by a suspension meanwhile. A handoff goes before a resignation that still drains; of two to different ids the
   * first stands, and the second gets `false`.
   *
   * @throws {OptionError} for an id or a duration that is none, or this process's own id; it goes on leading.
   */
  async handoff(to: string, reserveMs: number = this.#options.timing.ttlMs): Promise<boolean> {
    validateHandoff(to, reserveMs);
    if (to === this.#leases.holder.id) {
      const remedy = 'name another candidate; resign() gives the name to whoever comes first';
      throw new OptionError('to', to, 'is this process itself', remedy);
    }
    return this.#candidacy.giveBack({ cause: 'handoff', to, reserveMs });
  }

  /**
   * All live candidates: who waits, in the order in which they are called; then the rest, by id. Two reads, of which the
   * second tells who leads: in the first moments of a term only that one knows the leader. @throws as `Leases.read`.
   */
  async candidates(): Promise<ElectionCandidate[]> {
    const { coordinator } = this.#leases;
    const candidates = await coordinator.candidates(this.name, this.#call);
    return withLeader(candidates, await this.read());
  }

  /** The last terms and acts of operators, oldest first. @throws as `Leases.read`. */
  async history(): Promise<ElectionHistoryEntry[]> {
    return withVacancies(await this.#leases.coordinator.history(this.name, this.#call));
  }

  /** What is stored under the name now; `undefined` if it is free. @throws as `Leases.read`. */
  read(): Promise<LeaseRecord | undefined> {
    return this.#leases.read(this.name);
  }

  /**
   * The kill switch: nobody leads until {@link resume}. The present leader's next renewal is refused (`revoked`). Whoever
   * may reach the store may call it, eligible or not; who did and why is kept. Repeating it keeps the first act.
   *
   * @throws {OptionError} for a `by` or `reason` that is no text, or too long. Otherwise as `Leases.read`.
   */
  async suspend(act: Act): Promise<LeaseRecord> {
    return this.#leases.coordinator.suspend(this.name, requireAct(act), this.#call);
  }

  /** Ends a suspension; `false` if there was none. @throws as {@link suspend}. */
  async resume(act: Act): Promise<boolean> {
    return this.#leases.coordinator.resume(this.name, requireAct(act), this.#call);
  }

  /**
   * Ends the present leader's term: its next renewal is refused (`revoked`), and when it has released the name, or its ttl
   * is over, others may lead; with `to`, that holder id first. Resolves with what stands under the name then: `held` with
   * its `revocation`, or whatever was there instead. @throws as {@link suspend}.
   */
  async revoke(revocation: ElectionRevocation): Promise<LeaseRecord | undefined> {
    requireKnown('revocation', revocation, revocationKeys, 'pass { by, reason }');
    const { by, reason, term, to, reserveMs } = revocation;
    const { ttlMs } = this.#options.timing;
    if (to === undefined && reserveMs !== undefined) {
      const remedy = 'name in "to" for whom, or leave it out';
      throw new OptionError('reserveMs', reserveMs, 'reserves the name for nobody', remedy);
    }
    const request = {
      by,
      reason,
      ...(term !== undefined && { term }),
      ...(to !== undefined && { to, reserveMs: reserveMs === undefined ? ttlMs : reserveMs }),
    };
    return this.#leases.coordinator.revoke(this.name, request, this.#call);
  }

  /** @internal A lease of this name has ended. */
  leaseEnded(how: 'lost' | 'resigned', lease: Lease, reason: EndReason): void {
    this.#candidacy.current.ended(how, lease, reason);
  }

  /** @internal Another live process uses this id. */
  duplicateSeen(id: string): void {
    this.#announcer.tell('duplicate', { id });
  }

  /** @internal */
  evidenceRefused(error: unknown): void {
    this.#announcer.tell('evidenceFailed', { error });
  }

  /** @internal */
  async close(): Promise<void> {
    this.#reader.close();
    await this.#candidacy.close();
    await this.#presence.settled();
  }

  get #call(): { readonly timeoutMs: number } {
    return { timeoutMs: this.#leases.timing.attemptTimeoutMs };
  }
}

/** @throws {OptionError} for options that are none, as they come from a caller whom no compiler checked. */
function requireStopOptions(options: StopOptions): StopOptions {
  requireSignal(requireKnown('options', options, { signal: true }).signal);
  return options;
}
