import { type Known, requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';

export interface SqliteFenceOptions {
  /**
   * How long `fence.transaction` lets its work keep the file's write lock, in milliseconds by this process's monotonic
   * clock, from 100 to a day. Then it rolls back. Default 30 000. It does not help against a process that is stopped
   * inside a transaction: nobody can write to the file until that goes on, or is ended.
   */
  readonly transactionTimeoutMs?: number;
  /**
   * How long a claim or a transaction waits for the write lock, and for its turn among those of this fence, in
   * milliseconds. More than `transactionTimeoutMs`. Default: that plus 15 000.
   */
  readonly waitTimeoutMs?: number;
  /** Clocks, timers and randomness; for tests. Default those of this process. */
  readonly runtime?: Runtime;
}

export type ResolvedOptions = Required<SqliteFenceOptions>;

const dayMs = 24 * 60 * 60 * 1000;
const waitBeyondTransactionMs = 15_000;

const optionKeys: Known<SqliteFenceOptions> = {
  transactionTimeoutMs: true,
  waitTimeoutMs: true,
  runtime: true,
};

/** @throws {OptionError} */
export function resolveOptions(options: SqliteFenceOptions): ResolvedOptions {
  requireKnown('options', options, optionKeys);
  const transactionTimeoutMs = options.transactionTimeoutMs ?? 30_000;
  const waitTimeoutMs = options.waitTimeoutMs ?? transactionTimeoutMs + waitBeyondTransactionMs;
  checkDuration('transactionTimeoutMs', transactionTimeoutMs, dayMs);
  checkDuration('waitTimeoutMs', waitTimeoutMs, 2 * dayMs);
  if (waitTimeoutMs <= transactionTimeoutMs) {
    throw new OptionError(
      'waitTimeoutMs',
      waitTimeoutMs,
      'would give up before the transaction of another one is over',
      `use more than transactionTimeoutMs, which is ${transactionTimeoutMs}`,
    );
  }
  return { transactionTimeoutMs, waitTimeoutMs, runtime: requireRuntime(options.runtime) };
}

function checkDuration(option: string, value: number, longestMs: number): void {
  if (Number.isSafeInteger(value) && value >= 100 && value <= longestMs) return;
  const remedy = `use whole milliseconds from 100 to ${longestMs}`;
  throw new OptionError(option, value, 'is no such duration', remedy);
}
