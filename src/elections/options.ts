import { type CoordinatorPromises, longestTtlMs, validateName } from '../coordinators/index.js';
import { checkPreference } from '../coordinators/requests.js';
import { type Known, requireDuration, requireKnown } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { AcquireOptions, LeaseTiming, ResolvedTiming } from '../leases/index.js';
import { refineTiming } from '../leases/options.js';
import { particularsOf } from '../leases/particulars.js';
import { type Json, metadataText } from './metadata.js';
import { defaultPauses } from './pause.js';

/** All durations in milliseconds of monotonic time; those of {@link LeaseTiming} default to those of the leases. */
export interface ElectionOptions extends LeaseTiming {
  /**
   * What others may know about this candidate, shown with its entry and with its lease: JSON of at most 4 KiB. Default
   * `{ host, pid }`.
   */
  readonly metadata?: Json;
  /** `false`: this process only observes; `campaign` and `lead` throw. Default `true`. */
  readonly eligible?: boolean;
  /** Who waits with a higher preference is called first when the name is free. Integer, 0 to 99; default 0. */
  readonly preference?: number;
  /**
   * Lock-delay: for so long after this leader's lease was lost and has *expired*, nobody is elected; never after a
   * release, nor after `revoked`, `max-hold` or `shutdown` if the work stops before the ttl is over. For work that no
   * fence guards. 0 to 24 h, default 0.
   */
  readonly graceAfterLossMs?: number;
  /**
   * Ends each term this long after its grant, with reason `max-hold`. At least twice `attemptTimeoutMs`; default: no limit.
   */
  readonly maxHoldMs?: number;
  /**
   * How long work may go on after it was told to stop. Then its lease is ended (`shutdown`), and left to expire unless
   * the work stops before that; `workOverdue` tells. 0 to 24 h; default: the ttl.
   */
  readonly drainMs?: number;
  /**
   * Pauses after failed work grow from this to `longestPauseMs`, each drawn from its upper half; the pause after a
   * resignation does not grow. 1 ms to 24 h; default 1,000.
   */
  readonly firstPauseMs?: number;
  /** `firstPauseMs` to 24 h; default 60,000. A term held for longer makes the next pause short again. */
  readonly longestPauseMs?: number;
}

export interface ResolvedElectionOptions {
  readonly name: string;
  readonly timing: ResolvedTiming;
  /** What every acquisition of this name asks for. */
  readonly acquire: AcquireOptions;
  readonly metadata: string;
  readonly eligible: boolean;
  readonly preference: number;
  readonly drainMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const electionKeys: Known<ElectionOptions> = {
  metadata: true,
  eligible: true,
  preference: true,
  graceAfterLossMs: true,
  maxHoldMs: true,
  drainMs: true,
  firstPauseMs: true,
  longestPauseMs: true,
  ttlMs: true,
  renewEveryMs: true,
  giveUpAfterMs: true,
  attemptTimeoutMs: true,
};

/** Fills in the defaults and checks everything; nothing is corrected silently. @throws {OptionError} */
export function resolveElectionOptions(
  name: string,
  options: ElectionOptions,
  base: ResolvedTiming,
  promises: CoordinatorPromises,
): ResolvedElectionOptions {
  validateName(name);
  const { eligible = true, preference = 0 } = requireKnown('options', options, electionKeys);
  if (typeof eligible !== 'boolean')
    throw new OptionError('eligible', eligible, 'is neither true nor false', 'use one of them');
  const timing = refineTiming(base, options, promises);
  const metadata = metadataText(options.metadata);
  const { drainMs = timing.ttlMs, firstPauseMs = defaultPauses.firstPauseMs } = options;
  requireDuration('firstPauseMs', firstPauseMs, 1, longestTtlMs);
  const { longestPauseMs = Math.max(defaultPauses.longestPauseMs, firstPauseMs) } = options;
  return {
    name,
    timing,
    acquire: { ...ownTiming(options), ...particulars(options, metadata, timing) },
    metadata,
    eligible,
    preference: checkPreference(preference),
    drainMs: requireDuration('drainMs', drainMs, 0, longestTtlMs),
    firstPauseMs,
    longestPauseMs: requireDuration('longestPauseMs', longestPauseMs, firstPauseMs, longestTtlMs),
  };
}

function particulars(
  { graceAfterLossMs, maxHoldMs }: ElectionOptions,
  metadata: string,
  timing: ResolvedTiming,
) {
  const options = {
    metadata,
    keepHistory: true,
    ...(graceAfterLossMs !== undefined && { graceAfterLossMs }),
    ...(maxHoldMs !== undefined && { maxHoldMs }),
  };
  return particularsOf(options, timing);
}

/** Only what was given: leases of the usual timing are asked for and renewed together. */
function ownTiming(options: ElectionOptions): LeaseTiming {
  const { ttlMs, renewEveryMs, giveUpAfterMs, attemptTimeoutMs } = options;
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(renewEveryMs !== undefined && { renewEveryMs }),
    ...(giveUpAfterMs !== undefined && { giveUpAfterMs }),
    ...(attemptTimeoutMs !== undefined && { attemptTimeoutMs }),
  };
}
