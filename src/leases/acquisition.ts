import {
  type AcquireResult,
  type Coordinator,
  type Holder,
  type LeaseRecord,
  validateMetadata,
  validateTerm,
} from '../coordinators/index.js';
import { requireObject } from '../errors/checks.js';
import {
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  type TenureError,
  UnreachableError,
} from '../errors/index.js';
import { elapsedMs, type Instant, type Runtime } from '../time/index.js';
import type { Afterlife } from './afterlife.js';
import { withDeadline } from './deadline.js';
import type { Lease, LeaseGrant } from './lease.js';
import type { LeaseTiming, ResolvedTiming } from './options.js';

/** One name to acquire, with what is particular to it. */
export interface Wanted {
  readonly name: string;
  readonly above?: number;
  readonly metadata?: string;
}

export interface AcquireOptions extends LeaseTiming {
  /** The highest term seen at the resource, if the coordinator may have lost its own: the new term is higher. */
  readonly above?: number;
  /** JSON text of at most 4 KiB for others to read beside the lease. */
  readonly metadata?: string;
}

/** The answer for one name of a batch: the lease, or who holds it instead, or why this name alone has no answer. */
export type AcquireOutcome =
  | { readonly outcome: 'granted'; readonly lease: Lease }
  | { readonly outcome: 'held'; readonly current: LeaseRecord }
  | { readonly outcome: 'failed'; readonly error: TenureError };

export interface AcquisitionOptions {
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  readonly holder: Holder;
  readonly afterlife: Afterlife;
  /** Makes a lease of a grant, or refuses it (everything is being closed): then the grant is given back. */
  readonly adopt: (grant: LeaseGrant) => Lease | TenureError;
}

type Answer = AcquireOutcome | 'too-slow';

/** How often a grant that arrives past its own deadline is tried again before the store counts as too slow. */
const slowGrantTries = 3;

/** Asks the store for names, and gives back at once whatever it granted too late, or may have granted unseen. */
export class Acquisition {
  readonly #options: AcquisitionOptions;

  constructor(options: AcquisitionOptions) {
    this.#options = options;
  }

  /** One outcome for each, in their order. Rejects if the request as a whole had no answer. */
  async run(wanted: readonly Wanted[], timing: ResolvedTiming): Promise<AcquireOutcome[]> {
    const outcomes = new Map<string, AcquireOutcome>();
    let pending = wanted;
    for (let round = 0; pending.length > 0 && round < slowGrantTries; round++) {
      const answers = await this.#attempt(pending, timing);
      for (const [name, answer] of answers) if (answer !== 'too-slow') outcomes.set(name, answer);
      pending = pending.filter(({ name }) => !outcomes.has(name));
    }
    return wanted.map(({ name }) => outcomes.get(name) ?? failed(tooSlow(name, timing)));
  }

  async #attempt(wanted: readonly Wanted[], timing: ResolvedTiming): Promise<Map<string, Answer>> {
    const { runtime, coordinator, holder } = this.#options;
    const attempt = runtime.randomHex(16);
    const { ttlMs, attemptTimeoutMs } = timing;
    const requests = wanted.map((one) => ({ ...one, holder, attempt, ttlMs }));
    const sentAt = runtime.now();
    try {
      const call = coordinator.acquire(requests, { timeoutMs: attemptTimeoutMs });
      const results = await withDeadline(runtime, attemptTimeoutMs * 2, 'an acquisition', call);
      const answers = new Map<string, Answer>();
      for (const [index, { name, metadata }] of wanted.entries()) {
        answers.set(name, this.#answer(name, results[index], { holder, timing, sentAt, metadata }));
      }
      return answers;
    } catch (error) {
      if (error instanceof OutcomeUnknownError) {
        // It may have been granted, or still be: take it back, in the background, since nobody here will use it.
        this.#giveBack(
          wanted.map(({ name }) => ({ name, holder, attempt })),
          timing,
        );
      }
      throw error;
    }
  }

  #answer(
    name: string,
    result: AcquireResult | undefined,
    grant: Omit<LeaseGrant, 'name' | 'term'>,
  ): Answer {
    switch (result?.outcome) {
      case 'granted':
        return this.#granted({ ...grant, name, term: result.term });
      case 'held':
        return result;
      case 'corrupt':
        return failed(corrupt(name, result.detail));
      case 'too-late':
        return 'too-slow';
      default:
        return failed(new OutcomeUnknownError(`the store gave no answer for "${name}"`));
    }
  }

  #granted(grant: LeaseGrant): Answer {
    const adopted = this.#isPast(grant.sentAt, grant.timing)
      ? 'too-slow'
      : this.#options.adopt(grant);
    if (adopted !== 'too-slow' && !(adopted instanceof Error))
      return { outcome: 'granted', lease: adopted };
    const { name, holder, term } = grant;
    this.#giveBack([{ name, holder, term }], grant.timing);
    return adopted === 'too-slow' ? adopted : failed(adopted);
  }

  #isPast(sentAt: Instant, timing: ResolvedTiming): boolean {
    return elapsedMs(sentAt, this.#options.runtime.now()) >= timing.giveUpAfterMs;
  }

  #giveBack(requests: Parameters<Afterlife['release']>[0], timing: ResolvedTiming): void {
    void this.#options.afterlife.release(requests, timing.attemptTimeoutMs);
  }
}

function failed(error: TenureError): AcquireOutcome {
  return { outcome: 'failed', error };
}

function corrupt(name: string, detail: string): RecordCorruptError {
  return new RecordCorruptError(
    `what is stored under "${name}" is not a lease (${detail}). It was left alone; use another name or namespace, or remove it by hand.`,
  );
}

function tooSlow(
  name: string,
  { giveUpAfterMs, attemptTimeoutMs }: ResolvedTiming,
): UnreachableError {
  const limits = `request limit ${Math.round(attemptTimeoutMs)} ms, lease given up after ${Math.round(giveUpAfterMs)} ms`;
  return new UnreachableError(
    `the store answered too late for "${name}" ${slowGrantTries} times (${limits}). Nothing is held; choose a larger ttlMs or find out what slows the store.`,
  );
}

/** @throws {OptionError} for what a store would refuse, together with everything that travels along. */
export function particularsOf(options: AcquireOptions): Omit<Wanted, 'name'> {
  const { above, metadata } = requireObject('options', options);
  if ('id' in options && options.id !== undefined) {
    const remedy = 'give it to new Leases(coordinator, { id })';
    throw new OptionError('id', options.id, 'is that of a whole set of leases', remedy);
  }
  if (above !== undefined) validateTerm(above, 'above');
  if (metadata !== undefined) validateMetadata(metadata);
  return { ...(above !== undefined && { above }), ...(metadata !== undefined && { metadata }) };
}
