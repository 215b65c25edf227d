import { type Known, requireKnown } from '../../errors/checks.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkLimit, resolveWait } from '../limits.js';

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

const optionKeys: Known<SqliteFenceOptions> = {
  transactionTimeoutMs: true,
  waitTimeoutMs: true,
  runtime: true,
};

/** @throws {OptionError} */
export function resolveOptions(options: SqliteFenceOptions): ResolvedOptions {
  requireKnown('options', options, optionKeys);
  const transactionTimeoutMs = options.transactionTimeoutMs ?? 30_000;
  checkLimit('transactionTimeoutMs', transactionTimeoutMs);
  const waitTimeoutMs = resolveWait(options.waitTimeoutMs, {
    option: 'transactionTimeoutMs',
    limitMs: transactionTimeoutMs,
    problem: 'would give up before the transaction of another one is over',
  });
  return { transactionTimeoutMs, waitTimeoutMs, runtime: requireRuntime(options.runtime) };
}
