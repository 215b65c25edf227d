import { longestTtlMs, validateMetadata, validateTerm } from '../coordinators/index.js';
import { type Known, requireKnown, requireObject } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { LeaseTiming, ResolvedTiming } from './options.js';

/** What one acquisition asks for, beside its timing. */
export interface Particulars {
  /** The highest term seen at the resource, if the coordinator may have lost its own: the new term is higher. */
  readonly above?: number;
  /** JSON text of at most 4 KiB for others to read beside the lease. */
  readonly metadata?: string;
  /**
   * Lock-delay, for work that no fence guards: for so long after the lease was *lost* and has expired, the store grants
   * the name to nobody. It gives the work of a frozen owner time to stop, and delays every takeover by as much. Whole
   * milliseconds by the store's clock, 0 to 86,400,000 (24 h); default 0. Never follows a release; nor `revoked`,
   * `max-hold` or `shutdown`, if `release` says before the ttl is over that the work has stopped.
   */
  readonly graceAfterLossMs?: number;
  /**
   * Ends the lease (reason `max-hold`) this long after it was acquired, however well it is renewed. Milliseconds
   * (monotonic, suspend included), counted from the request; at least twice `attemptTimeoutMs`, which is what being granted
   * may take. Default: no limit.
   */
  readonly maxHoldMs?: number;
  /** Keep this term in the name's history, and wake watchers when it begins. Default `false`. */
  readonly keepHistory?: boolean;
}

export interface AcquireOptions extends LeaseTiming, Particulars {}

export const acquireKeys: Known<AcquireOptions> = {
  ...{ ttlMs: true, renewEveryMs: true, giveUpAfterMs: true, attemptTimeoutMs: true },
  ...{ above: true, metadata: true, graceAfterLossMs: true, maxHoldMs: true, keepHistory: true },
};

/** @throws {OptionError} for an option that is none of these. */
export function requireAcquire<Options extends AcquireOptions>(
  options: Options,
  known: Known<Options>,
): Options {
  requireObject('options', options);
  if ('id' in options && options.id !== undefined) {
    const remedy = 'give it to new Leases(coordinator, { id })';
    throw new OptionError('id', options.id, 'is that of a whole set of leases', remedy);
  }
  return requireKnown('options', options, known);
}

/** One name to acquire, with what is particular to it. */
export interface Wanted extends Particulars {
  readonly name: string;
}

/** @throws {OptionError} for what a store would refuse, together with everything that travels along. */
export function particularsOf(options: AcquireOptions, timing: ResolvedTiming): Particulars {
  const { above, metadata, graceAfterLossMs, maxHoldMs, keepHistory } = requireObject(
    'options',
    options,
  );
  if (above !== undefined) validateTerm(above, 'above');
  if (metadata !== undefined) validateMetadata(metadata);
  if (graceAfterLossMs !== undefined) validateGrace(graceAfterLossMs);
  if (maxHoldMs !== undefined) validateMaxHold(maxHoldMs, timing);
  if (keepHistory !== undefined) validateKeepHistory(keepHistory);
  return {
    ...(above !== undefined && { above }),
    ...(metadata !== undefined && { metadata }),
    ...(graceAfterLossMs !== undefined && { graceAfterLossMs }),
    ...(maxHoldMs !== undefined && { maxHoldMs }),
    ...(keepHistory !== undefined && { keepHistory }),
  };
}

function validateGrace(graceAfterLossMs: number): void {
  if (
    Number.isInteger(graceAfterLossMs) &&
    graceAfterLossMs >= 0 &&
    graceAfterLossMs <= longestTtlMs
  )
    return;
  const remedy = `use a whole number of milliseconds from 0 to ${longestTtlMs}`;
  throw new OptionError('graceAfterLossMs', graceAfterLossMs, 'is out of range', remedy);
}

function validateMaxHold(maxHoldMs: number, { attemptTimeoutMs }: ResolvedTiming): void {
  const shortestMs = 2 * attemptTimeoutMs;
  const isDuration = typeof maxHoldMs === 'number' && Number.isFinite(maxHoldMs) && maxHoldMs > 0;
  if (isDuration && maxHoldMs >= shortestMs) return;
  const problem = isDuration
    ? `is over before a lease may be granted, at an attemptTimeoutMs of ${Math.round(attemptTimeoutMs)} ms`
    : 'is not a duration';
  const remedy = `use at least ${Math.ceil(shortestMs)} milliseconds, which is twice attemptTimeoutMs, or leave it out for no limit`;
  throw new OptionError('maxHoldMs', maxHoldMs, problem, remedy);
}

function validateKeepHistory(keepHistory: boolean): void {
  if (typeof keepHistory === 'boolean') return;
  throw new OptionError('keepHistory', keepHistory, 'is neither true nor false', 'use one of them');
}
