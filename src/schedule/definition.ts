import { type Known, requireDuration, requireKnown, requireWhole } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { CronTimes } from './cron.js';
import { validateJobName } from './job-name.js';
import type { JobDefinition } from './records.js';
import type { Misfire, MisfirePolicy } from './rules/due.js';

/** When a job is due, and what becomes of runs that fail. Times are in milliseconds. */
export interface JobOptions {
  /**
   * When it is due: five fields (minute, hour, day of month, month, weekday), or six with seconds first, or seven with a
   * year last as well; at most 1,024 characters. A local time that daylight saving leaves out is due when the gap ends; one
   * that comes twice is due once, unless the hour is `*` or a step of it.
   */
  readonly cron: string;
  /** The IANA time zone of `cron`. Default `UTC`, whatever the zone of this machine: replicas must agree. */
  readonly timeZone?: string;
  /**
   * What becomes of a tick that was not begun at its time, since nobody led or the run before took too long. `skip`: it
   * does not run. `once`: of all that are late the last one runs. `all`: each runs, the oldest first. Skipped ticks are
   * told and kept in the history. Default `once`.
   */
  readonly misfire?: Misfire;
  /**
   * A tick that is begun later than this is late; it is late as soon as the next tick is due, too. 0 to a year; default
   * 60,000. What a failover takes should fit in.
   */
  readonly lateAfterMs?: number;
  /** Ticks that are older than this are skipped, whatever `misfire` says. 0 to a year; default a day. */
  readonly catchUpMs?: number;
  /**
   * One attempt may take this long; then its `signal` aborts with a {@link RunTimeoutError}, and it counts as failed once
   * it has stopped, be that without an error. 1 to a year; default: no limit.
   */
  readonly timeoutMs?: number;
  /** What follows a failed attempt. Default: nothing; the run has failed. */
  readonly retry?: RetryOptions;
  /**
   * So many times a run whose process died, or lost its term, is resumed by the successor; then it is `abandoned`. 0
   * leaves it at once, for work that must not be begun twice. 0 to 1,000; default 10.
   */
  readonly resumeLimit?: number;
  /** So many ended runs are kept, those with the latest ticks. 1 to 100,000; default 1,000. */
  readonly keepRuns?: number;
}

export interface RetryOptions {
  /** So many more attempts. 1 to 1,000. */
  readonly limit: number;
  /** The pause before the first of them, drawn from its upper half; it doubles each time. 1 to a day; default 1,000. */
  readonly firstPauseMs?: number;
  /** Default 60,000, or `firstPauseMs` if that is longer. */
  readonly longestPauseMs?: number;
}

export interface ResolvedJob {
  readonly definition: JobDefinition;
  readonly times: CronTimes;
  readonly policy: MisfirePolicy;
  readonly timeoutMs: number;
  readonly retry: Required<RetryOptions>;
  readonly resumeLimit: number;
  readonly keepRuns: number;
}

export const jobKeys: Known<JobOptions> = {
  ...{ cron: true, timeZone: true, misfire: true, lateAfterMs: true, catchUpMs: true },
  ...{ timeoutMs: true, retry: true, resumeLimit: true, keepRuns: true },
};
const retryKeys: Known<RetryOptions> = {
  ...{ limit: true, firstPauseMs: true, longestPauseMs: true },
};

const dayMs = 24 * 60 * 60 * 1000;
const yearMs = 366 * dayMs;
const misfires: readonly Misfire[] = ['skip', 'once', 'all'];

/** Fills in the defaults and checks everything; nothing is corrected silently. @throws {OptionError} */
export function resolveJob(job: string, options: JobOptions): ResolvedJob {
  validateJobName(job);
  const {
    cron,
    timeZone = 'UTC',
    misfire = 'once',
  } = requireKnown('options', options, jobKeys, "pass { cron: '*/5 * * * *' }");
  const { lateAfterMs = 60_000, catchUpMs = dayMs, timeoutMs = Number.POSITIVE_INFINITY } = options;
  if (!misfires.includes(misfire)) {
    const remedy = `use one of ${misfires.join(', ')}`;
    throw new OptionError('misfire', misfire, 'is no policy', remedy);
  }
  const times = new CronTimes(cron, timeZone);
  return {
    definition: { job, cron, timeZone },
    times,
    policy: {
      misfire,
      lateAfterMs: requireDuration('lateAfterMs', lateAfterMs, 0, yearMs),
      catchUpMs: requireDuration('catchUpMs', catchUpMs, 0, yearMs),
    },
    timeoutMs:
      options.timeoutMs === undefined
        ? timeoutMs
        : requireDuration('timeoutMs', timeoutMs, 1, yearMs),
    retry: resolveRetry(options.retry),
    resumeLimit: requireWhole('resumeLimit', options.resumeLimit ?? 10, 0, 1_000),
    keepRuns: requireWhole('keepRuns', options.keepRuns ?? 1_000, 1, 100_000),
  };
}

function resolveRetry(retry: RetryOptions | undefined): Required<RetryOptions> {
  if (retry === undefined) return { limit: 0, firstPauseMs: 1_000, longestPauseMs: 60_000 };
  const { limit, firstPauseMs = 1_000 } = requireKnown(
    'retry',
    retry,
    retryKeys,
    'pass { limit: 3 }, or leave it out',
  );
  requireWhole('retry.limit', limit, 1, 1_000);
  requireDuration('retry.firstPauseMs', firstPauseMs, 1, dayMs);
  const { longestPauseMs = Math.max(60_000, firstPauseMs) } = retry;
  requireDuration('retry.longestPauseMs', longestPauseMs, firstPauseMs, dayMs);
  return { limit, firstPauseMs, longestPauseMs };
}
