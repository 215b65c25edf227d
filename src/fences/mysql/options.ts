import { quoteDatabase } from '../../drivers/mysql/index.js';
import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkLimit, resolveIdleLimits, resolveMaxConnections } from '../limits.js';

export interface MysqlFenceOptions {
  /** The database of the fence's two tables: 1 to 64 letters, digits, underscores. Default `tenure`. */
  readonly database?: string;
  /**
   * How long a guarded transaction may stand open without a statement, in milliseconds by the server's clock: whole
   * seconds, up to a day. Then the server closes its connection, which is how a frozen owner makes room for its
   * successor. A shorter limit that the session has already stays. Default 30 000; longer lets a takeover wait longer,
   * shorter ends work that computes or calls elsewhere between two statements.
   */
  readonly idleInTransactionTimeoutMs?: number;
  /**
   * How long a claim waits for transactions of the previous owner, in milliseconds: whole seconds, more than
   * `idleInTransactionTimeoutMs`. Default: that plus 15 000. A check, and a transaction that installs its term without a
   * claim, wait no longer than `innodb_lock_wait_timeout` of their session either.
   */
  readonly waitTimeoutMs?: number;
  /**
   * How long connecting, `COMMIT`, `ROLLBACK` and closing may each take, in milliseconds, from 100 to a day. A
   * `COMMIT` that takes longer has an unknown outcome. Default 15 000.
   */
  readonly timeoutMs?: number;
  /**
   * The most connections of a pool that the fence opens for a URL, 1 to 1,000; not to be given with a pool of your own.
   * As many claims and transactions run at a time; others wait for up to `timeoutMs`. Default 10.
   */
  readonly maxConnections?: number;
  /**
   * `crash`: a server that may forget commits in a crash of its machine (`innodb_flush_log_at_trx_commit` other than 1 or
   * 3, or a binary log with `sync_binlog` other than 1) is refused with `StoreMisconfiguredError`. `process`: it is taken,
   * and after such a crash an old owner may pass, and an effect that was recorded may be forgotten. Default `crash`.
   */
  readonly durability?: 'crash' | 'process';
  /** Clocks and timers; for tests. Default those of this process. */
  readonly runtime?: Runtime;
}

export interface ResolvedOptions {
  readonly database: string;
  readonly quotedDatabase: string;
  readonly idleInTransactionTimeoutMs: number;
  readonly waitTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxConnections: number;
  readonly durability: 'crash' | 'process';
  readonly runtime: Runtime;
}

/** @param hasOwnPool whether the fence opens the pool. */
export function resolveOptions(options: MysqlFenceOptions, hasOwnPool: boolean): ResolvedOptions {
  const { database = 'tenure', durability = 'crash', timeoutMs = 15_000 } = options;
  const quotedDatabase = quoteDatabase(database);
  const idleLimits = resolveIdleLimits(options, checkSeconds);
  checkLimit('timeoutMs', timeoutMs);
  if (durability !== 'crash' && durability !== 'process') {
    throw new OptionError('durability', durability, 'is no such word', "use 'crash' or 'process'");
  }
  return {
    database,
    quotedDatabase,
    ...idleLimits,
    timeoutMs,
    maxConnections: resolveMaxConnections(options.maxConnections, hasOwnPool, 'connectionLimit'),
    durability,
    runtime: requireRuntime(options.runtime),
  };
}

/** The server counts these in seconds. */
function checkSeconds(option: string, value: number, longestMs: number): void {
  if (Number.isSafeInteger(value) && value >= 1000 && value <= longestMs && value % 1000 === 0)
    return;
  const remedy = `use milliseconds of whole seconds, from 1000 to ${longestMs}`;
  throw new OptionError(option, value, 'is no such duration', remedy);
}
