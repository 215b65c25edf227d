import { validateName } from '../../coordinators/index.js';
import { quoteSchema } from '../../drivers/postgres/index.js';
import { requireKnown } from '../../errors/checks.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkLimit, resolveIdleLimits, resolveMaxConnections } from '../limits.js';

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

/** @param hasOwnPool whether the fence opens the pool. */
export function resolveOptions(
  options: PostgresFenceOptions,
  hasOwnPool: boolean,
): ResolvedOptions {
  const schema = options.schema ?? 'tenure';
  const timeoutMs = options.timeoutMs ?? 15_000;
  const quotedSchema = quoteSchema(schema);
  const idleLimits = resolveIdleLimits(options);
  checkLimit('timeoutMs', timeoutMs);
  return {
    schema,
    quotedSchema,
    ...idleLimits,
    timeoutMs,
    maxConnections: resolveMaxConnections(options.maxConnections, hasOwnPool, 'max'),
    runtime: requireRuntime(options.runtime),
    leases: resolveLeases(options.leases),
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
