import { checkPreference } from '../coordinators/requests.js';
import { type Known, requireFunction, requireSignal } from '../errors/checks.js';
import { OptionError, type TenureError } from '../errors/index.js';
import { isolated, onAbort } from '../events/index.js';
import type { Runtime } from '../time/index.js';
import type { AcquireOutcome } from './acquisition.js';
import type { Lease } from './lease.js';
import type { ResolvedTiming } from './options.js';
import { type AcquireOptions, acquireKeys, requireAcquire } from './particulars.js';
import type { Roster } from './roster.js';
import { Waiting } from './waiting.js';

export interface WaitOptions extends AcquireOptions {
  /** How long to wait for a name that is held, in milliseconds; `Infinity` waits until `signal` aborts. Default 0. */
  readonly waitMs?: number;
  /**
   * Ends the wait: the call rejects with the signal's reason and leaves nothing behind. It waits for the request under way,
   * at most twice `attemptTimeoutMs` (5 s with the default ttl) at a store that does not answer.
   */
  readonly signal?: AbortSignal;
  /**
   * Among those who wait for the name, who prefers most is called first, and among equals who has waited longest.
   * Integer, 0 to 99; default 0. It gives a better place in the queue, no right: nobody who holds the name loses it.
   */
  readonly preference?: number;
  /**
   * Called once if the name was not to be had at once, when this process enters its queue. What it throws is a process
   * warning.
   */
  readonly onQueued?: () => void;
  /**
   * Called once, when the store has answered that this process stands in its queue: login and rights are as they should be, and
   * from here on only time, or an operator, is in the way. What it throws is a process warning.
   */
  readonly onAdmitted?: () => void;
  /**
   * Told of each error of the store that is tried again while waiting; the next try is in `retryInMs`, or before, if
   * something is heard meanwhile. What it throws is a process warning.
   */
  readonly onRetry?: (error: TenureError, retryInMs: number) => void;
}

export interface WaitsOptions {
  readonly runtime: Runtime;
  readonly holderId: string;
  readonly roster: Roster;
  readonly attempt: (name: string, options: AcquireOptions) => Promise<AcquireOutcome>;
  readonly confirm: (lease: Lease) => Promise<boolean>;
}

/** Everybody in this process who waits for a name. */
export class Waits {
  readonly #options: WaitsOptions;
  readonly #waiting = new Set<Waiting>();

  constructor(options: WaitsOptions) {
    this.#options = options;
  }

  /** @throws as {@link Waiting.run}; the signal's reason if it aborts. */
  async run(
    name: string,
    options: WaitOptions,
    timing: ResolvedTiming,
  ): Promise<Lease | undefined> {
    const { signal, waitMs = 0 } = options;
    const waiting = this.#create(name, options, timing);
    this.#waiting.add(waiting);
    const stopListening = onAbort(signal, () => waiting.end(signal?.reason));
    try {
      return await waiting.run(waitMs);
    } finally {
      stopListening();
      this.#waiting.delete(waiting);
    }
  }

  /** Each of them rejects with `reason`. */
  end(reason: Error): void {
    for (const waiting of this.#waiting) waiting.end(reason);
  }

  #create(name: string, options: WaitOptions, timing: ResolvedTiming): Waiting {
    const { runtime, holderId, roster, attempt, confirm } = this.#options;
    const { preference = 0, metadata, onQueued, onAdmitted, onRetry } = options;
    // Isolated: what a listener of the user's throws must not end the wait.
    const queued = isolated('onQueued', () => onQueued?.());
    const admitted = isolated('onAdmitted', () => onAdmitted?.());
    const retried = isolated('onRetry', (retry: [error: TenureError, retryInMs: number]) =>
      onRetry?.(...retry),
    );
    const asked = {
      standing: 'waiting',
      preference,
      ...(metadata !== undefined && { metadata }),
    } as const;
    return new Waiting({
      runtime,
      holderId,
      longestPauseMs: timing.renewEveryMs,
      attempt: () => attempt(name, options),
      enroll: (listener) => {
        queued(undefined);
        return roster.enroll(name, asked, timing, listener);
      },
      onAdmitted: () => admitted(undefined),
      onRetry: (...retry) => retried(retry),
      confirm,
    });
  }
}

const waitKeys: Known<WaitOptions> = {
  ...acquireKeys,
  ...{ waitMs: true, signal: true, preference: true },
  ...{ onQueued: true, onAdmitted: true, onRetry: true },
};

/** @throws {OptionError} for options that are none, as they come from a caller whom no compiler checked. */
export function requireWaitOptions(options: WaitOptions): void {
  const { waitMs, signal, preference, ...listeners } = requireAcquire(options, waitKeys);
  if (waitMs !== undefined && !(typeof waitMs === 'number' && waitMs >= 0))
    throw new OptionError('waitMs', waitMs, 'is not a duration', 'use 0 or more milliseconds');
  if (preference !== undefined) checkPreference(preference);
  const { onQueued, onAdmitted, onRetry } = listeners;
  for (const [option, listener] of Object.entries({ onQueued, onAdmitted, onRetry })) {
    if (listener !== undefined) requireFunction(option, listener, 'pass one, or leave it out');
  }
  requireSignal(signal);
}
