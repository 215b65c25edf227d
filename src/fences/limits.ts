import { OptionError } from '../errors/index.js';

export const dayMs = 24 * 60 * 60 * 1000;

/** What a wait has by default beyond that which it has to outlast. */
const waitBeyondMs = 15_000;

/** @throws {OptionError} unless it is whole milliseconds within these bounds. */
export function checkLimit(
  option: string,
  value: number,
  longestMs = dayMs,
  shortestMs = 100,
): void {
  if (Number.isSafeInteger(value) && value >= shortestMs && value <= longestMs) return;
  const remedy = `use whole milliseconds from ${shortestMs} to ${longestMs}`;
  throw new OptionError(option, value, 'is no such duration', remedy);
}

type Check = (option: string, value: number, longestMs: number) => void;

/**
 * How long a guarded transaction may stand open without a statement, and how long a claim waits for it.
 *
 * @param check what the store asks of both.
 * @throws {OptionError}
 */
export function resolveIdleLimits(
  given: { readonly idleInTransactionTimeoutMs?: number; readonly waitTimeoutMs?: number },
  check: Check = checkLimit,
) {
  const option = 'idleInTransactionTimeoutMs';
  const limitMs = given[option] ?? 30_000;
  check(option, limitMs, dayMs);
  const problem = 'would give up before a frozen predecessor is ended';
  const waitTimeoutMs = resolveWait(given.waitTimeoutMs, { option, limitMs, problem }, check);
  return { idleInTransactionTimeoutMs: limitMs, waitTimeoutMs };
}

/** How long a claim waits for others: longer than the option lets them go on. @throws {OptionError} */
export function resolveWait(
  given: number | undefined,
  {
    option,
    limitMs,
    problem,
  }: { readonly option: string; readonly limitMs: number; readonly problem: string },
  check: Check = checkLimit,
): number {
  const waitTimeoutMs = given ?? limitMs + waitBeyondMs;
  check('waitTimeoutMs', waitTimeoutMs, 2 * dayMs);
  if (waitTimeoutMs > limitMs) return waitTimeoutMs;
  const remedy = `use more than ${option}, which is ${limitMs}`;
  throw new OptionError('waitTimeoutMs', waitTimeoutMs, problem, remedy);
}

/** @param setting what limits a pool of the user's. @throws {OptionError} */
export function resolveMaxConnections(
  given: number | undefined,
  hasOwnPool: boolean,
  setting: string,
): number {
  const maxConnections = given ?? 10;
  if (!Number.isInteger(maxConnections) || maxConnections < 1 || maxConnections > 1_000) {
    const remedy = 'use a whole number from 1 to 1000';
    throw new OptionError('maxConnections', maxConnections, 'is no such number', remedy);
  }
  if (hasOwnPool || given === undefined) return maxConnections;
  const remedy = `set \`${setting}\` of that pool`;
  throw new OptionError('maxConnections', maxConnections, 'says nothing to your pool', remedy);
}
