import { validateName } from '../../coordinators/index.js';
import { quoteSchema } from '../../drivers/postgres/index.js';
import { requireKnown } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';

export interface PostgresFenceOptions {
  /** The schema of the fence's two tables: 1 to 63 letters, digits, underscores. Default `tenure`. */
  readonly schema?: string;
  /**
   * How long a guarded transaction may stand open without a statement, in milliseconds by the server's clock, from 100
   * to a day. Then the server ends it, which is how a frozen owner makes room for its successor. A shorter limit that
   * the session has already stays. Default 30 000; longer lets a takeover wait longer, shorter ends work that computes
   * or calls elsewhere between two statements.
   */
  readonly idleInTransactionTimeoutMs?: number;
  /**
   * How long a claim, or a check that installs a new term, waits for transactions of the previous owner, in
   * milliseconds. More than `idleInTransactionTimeoutMs`. Default: that plus 15 000.
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
   * The coordinator keeps its leases in this same database: then the lease itself is checked in the transaction as well,
   * by the server's clock, and nobody else is granted its name before the transaction has ended. Default: a term is
   * checked against the installed one alone.
   */
  readonly leases?: LeasesOfFence;
  /** Clocks and timers; for tests. Default those of this process. */
  readonly runtime?: Runtime;
}

/** Where the leases stand: see `PostgresCoordinatorOptions`. */
export interface LeasesOfFence {
  /** Default `tenure`. */
  readonly schema?: string;
  /** Default `default`. */
  readonly namespace?: string;
}

export interface ResolvedOptions {
  readonly schema: string;
  readonly quotedSchema: string;
  readonly idleInTransactionTimeoutMs: number;
  readonly waitTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxConnections: number;
  /** `undefined`: the leases are elsewhere. */
  readonly leases: { readonly quotedSchema: string; readonly namespace: string } | undefined;
  readonly runtime: Runtime;
}

const dayMs = 24 * 60 * 60 * 1000;
const waitBeyondIdleMs = 15_000;

/** @param hasOwnPool whether the fence opens the pool. */
export function resolveOptions(
  options: PostgresFenceOptions,
  hasOwnPool: boolean,
): ResolvedOptions {
  const schema = options.schema ?? 'tenure';
  const idleInTransactionTimeoutMs = options.idleInTransactionTimeoutMs ?? 30_000;
  const waitTimeoutMs = options.waitTimeoutMs ?? idleInTransactionTimeoutMs + waitBeyondIdleMs;
  const timeoutMs = options.timeoutMs ?? 15_000;
  const quotedSchema = quoteSchema(schema);
  checkDuration('idleInTransactionTimeoutMs', idleInTransactionTimeoutMs, dayMs);
  checkDuration('timeoutMs', timeoutMs, dayMs);
  checkDuration('waitTimeoutMs', waitTimeoutMs, 2 * dayMs);
  if (waitTimeoutMs <= idleInTransactionTimeoutMs) {
    throw new OptionError(
      'waitTimeoutMs',
      waitTimeoutMs,
      'would give up before a frozen predecessor is ended',
      `use more than idleInTransactionTimeoutMs, which is ${idleInTransactionTimeoutMs}`,
    );
  }
  const maxConnections = options.maxConnections ?? 10;
  if (!Number.isInteger(maxConnections) || maxConnections < 1 || maxConnections > 1_000) {
    const remedy = 'use a whole number from 1 to 1000';
    throw new OptionError('maxConnections', maxConnections, 'is no such number', remedy);
  }
  if (options.maxConnections !== undefined && !hasOwnPool) {
    const remedy = 'set `max` of that pool';
    throw new OptionError('maxConnections', maxConnections, 'says nothing to your pool', remedy);
  }
  const runtime = requireRuntime(options.runtime);
  return {
    schema,
    quotedSchema,
    idleInTransactionTimeoutMs,
    waitTimeoutMs,
    timeoutMs,
    maxConnections,
    leases: resolveLeases(options.leases),
    runtime,
  };
}

function resolveLeases(leases: LeasesOfFence | undefined): ResolvedOptions['leases'] {
  if (leases === undefined) return undefined;
  const known = { schema: true, namespace: true } as const;
  const { schema = 'tenure', namespace = 'default' } = requireKnown('leases', leases, known);
  return {
    quotedSchema: quoteSchema(schema, 'leases.schema'),
    namespace: validateName(namespace, 'leases.namespace'),
  };
}

function checkDuration(option: string, value: number, longestMs: number): void {
  if (Number.isSafeInteger(value) && value >= 100 && value <= longestMs) return;
  const remedy = `use whole milliseconds from 100 to ${longestMs}`;
  throw new OptionError(option, value, 'is no such duration', remedy);
}
