import { ClosedError } from '../errors/index.js';
import { type CampaignTrace, traced, traces } from '../events/index.js';
import type { Lease, Leases } from '../leases/index.js';
import { OutageWarning } from '../leases/outage-warning.js';
import { Backoff, elapsedMs, sleep } from '../time/index.js';
import type { Announcer } from './announcer.js';
import type { ResolvedElectionOptions } from './options.js';
import type { Presence } from './presence.js';

export interface CampaignerOptions {
  readonly leases: Leases;
  readonly options: ResolvedElectionOptions;
  readonly announcer: Announcer;
  readonly presence: Presence;
}

interface Wanted {
  readonly waitMs: number;
  readonly above?: number | undefined;
  /** As of `Leases.acquire`. */
  readonly onAdmitted?: () => void;
}

interface Winning {
  /** It has never led. */
  readonly isFirst: boolean;
  readonly above?: number | undefined;
  /** Default: for ever. */
  readonly waitMs?: number;
}

/** Waits for the name in its queue. The place there, and what others see of it, is by this process's `Presence`. */
export class Campaigner {
  readonly #context: CampaignerOptions;
  readonly #outageWarning: OutageWarning;

  constructor(context: CampaignerOptions) {
    const { leases, options, announcer } = context;
    this.#context = context;
    this.#outageWarning = new OutageWarning(leases, {
      who: `the election "${options.name}"`,
      listen: "election.events.on('campaignFailed', ...)",
      isHeard: () => announcer.events.listenerCount('campaignFailed') > 0,
    });
  }

  /** One wait, with its errors; each failed try that is repeated is told. Rejects with `signal`'s reason. */
  wait(signal: AbortSignal, wanted: Wanted): Promise<Lease | undefined> {
    const { leases, options } = this.#context;
    const context: CampaignTrace = { name: options.name, id: leases.holder.id };
    return traced(traces.campaign, context, async () => {
      const lease = await this.#wait(signal, wanted);
      if (lease !== undefined) context.term = lease.term;
      return lease;
    });
  }

  /**
   * Waits until it has won; `undefined` if `signal` aborts, or `waitMs` has passed. As long as it has never stood in the queue, what
   * trying again cannot help is the caller's: a wrong option, a wrong password, a missing right, a misconfigured store, a foreign
   * record. Later on it goes on all the same: who led once, or stood by, must not leave the field for somebody's short mistake, or
   * while a password changes.
   */
  async win(
    signal: AbortSignal,
    { isFirst, above, waitMs = Number.POSITIVE_INFINITY }: Winning,
  ): Promise<Lease | undefined> {
    const { leases, options } = this.#context;
    const { runtime } = leases;
    const { firstPauseMs: firstMs, longestPauseMs: limitMs } = options;
    const backoff = new Backoff(runtime, { firstMs, limitMs });
    const startedAt = runtime.now();
    const leftMs = () => Math.max(0, waitMs - elapsedMs(startedAt, runtime.now()));
    let wasAdmitted = !isFirst;
    const onAdmitted = () => {
      wasAdmitted = true;
    };
    while (!signal.aborted) {
      try {
        return await this.wait(signal, { waitMs: leftMs(), above, onAdmitted });
      } catch (error) {
        if (signal.aborted) break;
        if (!wasAdmitted || error instanceof ClosedError || leftMs() === 0) throw error;
        const retryInMs = Math.min(backoff.nextMs(), leftMs());
        this.#failed(error, retryInMs);
        await sleep(runtime, retryInMs, signal);
      }
    }
    return undefined;
  }

  async #wait(
    signal: AbortSignal,
    { waitMs, above, onAdmitted }: Wanted,
  ): Promise<Lease | undefined> {
    const { leases, options, presence, announcer } = this.#context;
    const lease = await leases.acquire(options.name, {
      ...options.acquire,
      ...(above !== undefined && { above }),
      onAdmitted: () => {
        announcer.admissions.emit('admitted', undefined);
        onAdmitted?.();
      },
      waitMs,
      signal,
      onQueued: () => presence.enterIfOpen(),
      onRetry: (error, retryInMs) => this.#failed(error, retryInMs),
    });
    if (signal.aborted) await lease?.release();
    signal.throwIfAborted();
    return lease;
  }

  #failed(error: unknown, retryInMs: number): void {
    this.#context.announcer.tell('campaignFailed', { error, retryInMs });
    this.#outageWarning.failed(error, retryInMs);
  }
}
