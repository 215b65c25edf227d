import type {
  AcquireResult,
  Coordinator,
  Holder,
  LeaseRecord,
  ReleaseRequest,
} from '../coordinators/index.js';
import {
  OutcomeUnknownError,
  RecordCorruptError,
  type TenureError,
  UnreachableError,
} from '../errors/index.js';
import { elapsedMs, type Runtime, withDeadline } from '../time/index.js';
import type { Afterlife } from './afterlife.js';
import type { Lease, LeaseGrant } from './lease.js';
import type { ResolvedTiming } from './options.js';
import type { Wanted } from './particulars.js';
import { TurnBatch } from './turn-batch.js';

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
  /** What is asked for one by one in this timing travels together. */
  readonly usualTiming: ResolvedTiming;
  /** Until then a grant would find nobody who renews it; `undefined`: now. */
  readonly ready: (timing: ResolvedTiming) => Promise<void> | undefined;
  /** Makes a lease of a grant, or refuses it (everything is being closed): then the grant is given back. */
  readonly adopt: (grant: LeaseGrant) => Lease | TenureError;
}

/** Why a name has no answer that can be used: the store took too long, or longer than `maxHoldMs` allows. */
type Lateness = 'too-slow' | 'past-max-hold';

type Answer = AcquireOutcome | Lateness;

/** How often a grant that arrives past its own deadline is tried again before the store counts as too slow. */
const slowGrantTries = 3;

/** Asks the store for names, and gives back at once whatever it granted too late, or may have granted unseen. */
export class Acquisition {
  readonly #options: AcquisitionOptions;
  readonly #gathered: TurnBatch<Wanted, AcquireOutcome>;
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: AcquisitionOptions) {
    this.#options = options;
    this.#gathered = new TurnBatch(
      ({ name }) => name,
      (wanted) => this.many(wanted, options.usualTiming),
    );
  }

  /** Names asked for in one turn travel in one request; so each has to be fit to travel. */
  async one(wanted: Wanted, timing: ResolvedTiming): Promise<AcquireOutcome> {
    if (timing === this.#options.usualTiming) return this.#gathered.add(wanted);
    const [outcome] = await this.many([wanted], timing);
    return outcome as AcquireOutcome;
  }

  /** One outcome for each, in their order. Rejects if the request as a whole had no answer. */
  async many(wanted: readonly Wanted[], timing: ResolvedTiming): Promise<AcquireOutcome[]> {
    const running = this.#run(wanted, timing);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when nothing is under way any more; what comes in meanwhile is not waited for. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #run(wanted: readonly Wanted[], timing: ResolvedTiming): Promise<AcquireOutcome[]> {
    const ready = this.#options.ready(timing);
    if (ready !== undefined) await ready;
    const outcomes = new Map<string, AcquireOutcome>();
    const late = new Map<string, Lateness>();
    let pending = wanted;
    for (let round = 0; pending.length > 0 && round < slowGrantTries; round++) {
      const answers = await this.#attempt(pending, timing);
      for (const [name, answer] of answers) {
        if (typeof answer === 'string') late.set(name, answer);
        else outcomes.set(name, answer);
      }
      pending = pending.filter(({ name }) => !outcomes.has(name));
    }
    return wanted.map(
      (one) => outcomes.get(one.name) ?? failed(tooLate(one, timing, late.get(one.name))),
    );
  }

  async #attempt(wanted: readonly Wanted[], timing: ResolvedTiming): Promise<Map<string, Answer>> {
    const { runtime, coordinator, holder } = this.#options;
    const attempt = runtime.randomHex(16);
    const { ttlMs, attemptTimeoutMs } = timing;
    const requests = wanted.map((one) => ({ ...requested(one), holder, attempt, ttlMs }));
    const sentAt = runtime.now();
    try {
      const call = coordinator.acquire(requests, { timeoutMs: attemptTimeoutMs });
      const results = await withDeadline(runtime, attemptTimeoutMs * 2, 'an acquisition', call);
      const answers = new Map<string, Answer>();
      for (const [index, one] of wanted.entries()) {
        const grant = { wanted: one, holder, timing, sentAt };
        answers.set(one.name, this.#answer(results[index], grant, attempt));
      }
      return answers;
    } catch (error) {
      if (error instanceof OutcomeUnknownError) this.#takeBack(wanted, attempt, timing);
      throw error;
    }
  }

  #answer(
    result: AcquireResult | undefined,
    grant: Omit<LeaseGrant, 'term'>,
    attempt: string,
  ): Answer {
    const { name } = grant.wanted;
    switch (result?.outcome) {
      case 'granted':
        return this.#granted({ ...grant, term: result.term });
      case 'held':
        return result;
      case 'corrupt':
        return failed(corrupt(name, result.detail));
      case 'too-late':
        return 'too-slow';
      default:
        this.#takeBack([grant.wanted], attempt, grant.timing);
        return failed(new OutcomeUnknownError(`the store gave no answer for "${name}"`));
    }
  }

  #granted(grant: LeaseGrant): Answer {
    const adopted = this.#lateness(grant) ?? this.#options.adopt(grant);
    if (typeof adopted !== 'string' && !(adopted instanceof Error))
      return { outcome: 'granted', lease: adopted };
    const { wanted, holder, term, timing } = grant;
    this.#giveBack([{ name: wanted.name, holder, term }], timing);
    return typeof adopted === 'string' ? adopted : failed(adopted);
  }

  /** `undefined`: the grant is in time. */
  #lateness({ sentAt, timing, wanted }: LeaseGrant): Lateness | undefined {
    const tookMs = elapsedMs(sentAt, this.#options.runtime.now());
    if (tookMs >= timing.giveUpAfterMs) return 'too-slow';
    return tookMs >= (wanted.maxHoldMs ?? Number.POSITIVE_INFINITY) ? 'past-max-hold' : undefined;
  }

  /** They may have been granted, or still be. In the background, since nobody here will use them. */
  #takeBack(wanted: readonly Wanted[], attempt: string, timing: ResolvedTiming): void {
    const { holder } = this.#options;
    this.#giveBack(
      wanted.map(({ name }) => ({ name, holder, attempt })),
      timing,
    );
  }

  #giveBack(requests: readonly ReleaseRequest[], timing: ResolvedTiming): void {
    const abandoned = requests.map((request) => ({ ...request, reason: 'abandoned' }));
    void this.#options.afterlife.release(abandoned, timing.attemptTimeoutMs);
  }
}

/** As the store is to hear it. */
function requested({ name, above, metadata, graceAfterLossMs, keepHistory }: Wanted) {
  return {
    name,
    ...(above !== undefined && { above }),
    ...(metadata !== undefined && { metadata }),
    ...(graceAfterLossMs !== undefined && { graceMs: graceAfterLossMs }),
    ...(keepHistory !== undefined && { keepHistory }),
  };
}

function failed(error: TenureError): AcquireOutcome {
  return { outcome: 'failed', error };
}

function corrupt(name: string, detail: string): RecordCorruptError {
  return new RecordCorruptError(
    `what is stored under "${name}" is not a lease (${detail}). It was left alone; use another name or namespace, or remove it by hand.`,
  );
}

function tooLate(
  { name, maxHoldMs = 0 }: Wanted,
  { attemptTimeoutMs, giveUpAfterMs }: ResolvedTiming,
  lateness: Lateness | undefined,
): UnreachableError {
  const [limit, option] =
    lateness === 'past-max-hold'
      ? [`maxHoldMs ${Math.round(maxHoldMs)} ms`, 'maxHoldMs']
      : [`lease given up after ${Math.round(giveUpAfterMs)} ms`, 'ttlMs'];
  const limits = `request limit ${Math.round(attemptTimeoutMs)} ms, ${limit}`;
  return new UnreachableError(
    `the store answered too late for "${name}" ${slowGrantTries} times (${limits}). Nothing is held; choose a larger ${option} or find out what slows the store.`,
  );
}
