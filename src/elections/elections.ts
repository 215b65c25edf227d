import { requireFunction, requireInstance, requireKnown } from '../errors/checks.js';
import { ClosedError, OptionError } from '../errors/index.js';
import { Emitter, isolated, type Unsubscribe } from '../events/index.js';
import { Leases } from '../leases/index.js';
import { Election } from './election.js';
import { EvidenceRecorder } from './evidence/index.js';
import { type ElectionOptions, resolveElectionOptions } from './options.js';

export interface ElectionsOptions {
  /**
   * Keeps in the store what this process saw when it lost a term (round trips, stalls of the event loop, errors), beside
   * the history, for `tenure diagnose`. Default `true`: two requests for each loss, in the background, and while this
   * process leads a look at the event loop ten times a second.
   */
  readonly evidence?: boolean;
}

/**
 * The elections that one process takes part in, by its leases: they name the candidate, and their timing is the default.
 * The leases are used, not owned: close them after this.
 */
export class Elections implements AsyncDisposable {
  /** Those it was made with. */
  readonly leases: Leases;
  readonly #elections = new Map<string, Election>();
  readonly #made = new Emitter<{ election: Election }>({ election: true });
  readonly #subscriptions: readonly Unsubscribe[];
  readonly #evidence: EvidenceRecorder | undefined;
  #closing: Promise<void> | undefined;

  /** Connects to nothing. @throws {OptionError} for what is no `Leases`, and for a bad option. */
  constructor(leases: Leases, options: ElectionsOptions = {}) {
    this.leases = requireInstance('leases', leases, Leases);
    const { evidence = true } = requireKnown('options', options, { evidence: true });
    if (typeof evidence !== 'boolean')
      throw new OptionError('evidence', evidence, 'is neither true nor false', 'use one of them');
    // Before the elections hear of a loss: what somebody does then is not what was seen at the time.
    const of = (name: string) => this.#elections.get(name);
    this.#evidence = evidence
      ? new EvidenceRecorder(
          leases,
          (name) => of(name) !== undefined,
          (name, error) => of(name)?.evidenceRefused(error),
        )
      : undefined;
    this.#subscriptions = [
      leases.events.on('lost', ({ lease, reason }) =>
        of(lease.name)?.leaseEnded('lost', lease, reason),
      ),
      leases.events.on('released', ({ lease, reason }) =>
        of(lease.name)?.leaseEnded('resigned', lease, reason),
      ),
      leases.events.on('duplicate', ({ name, id }) => of(name)?.duplicateSeen(id)),
    ];
  }

  /**
   * The election for a name: one object per name, made by the first call with its options; later calls leave them out.
   * Nothing is sent before it is used.
   *
   * @throws {OptionError} for a bad name or option, naming it; or options for an election that is there already.
   * {@link ClosedError} after `close`.
   */
  election(name: string, options?: ElectionOptions): Election {
    if (this.#closing !== undefined) throw new ClosedError('this set of elections');
    const present = this.#elections.get(name);
    if (present === undefined) return this.#create(name, options);
    if (options === undefined) return present;
    const remedy = 'leave the options out to get the election that was made before';
    throw new OptionError('options', options, `come too late for "${name}"`, remedy);
  }

  /** Calls `listener` at once with each election that was made here, and later with each that will be. */
  onElection(listener: (election: Election) => void): Unsubscribe {
    requireFunction('listener', listener, 'pass (election) => { ... }');
    const told = isolated('onElection', listener);
    for (const election of this.#elections.values()) told(election);
    return this.#made.on('election', told);
  }

  /**
   * Ends every `lead`, campaign and observation, as their signals would, gives back what is held, and leaves the
   * candidates. A `lead` whose work does not stop rejects for itself. Never rejects; safe to call twice.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#elections.values()].map((election) => election.close()));
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    await this.#evidence?.close();
  }

  #create(name: string, options: ElectionOptions = {}): Election {
    const { timing, coordinator } = this.leases;
    const resolved = resolveElectionOptions(name, options, timing, coordinator.promises);
    const election = new Election(this.leases, resolved);
    this.#elections.set(name, election);
    this.#evidence?.follow(election);
    this.#made.emit('election', election);
    return election;
  }
}
