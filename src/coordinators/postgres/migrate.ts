import {
  ask,
  migrationLockKey,
  type PostgresClient,
  type PostgresPool,
  PostgresPoolHandle,
  quoteSchema,
  runTransaction,
} from '../../drivers/postgres/index.js';
import { requireKnown } from '../../errors/checks.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { checkTimeout } from '../requests.js';
import { tooNew } from './check.js';
import { placeOf } from './place.js';
import { migrationSteps, schemaVersion } from './schema/index.js';

export interface MigratePostgresOptions {
  /**
   * The schema to create or migrate: 1 to 63 letters, digits, underscores. Default: what the URL says (`?schema=`), else
   * `tenure`.
   */
  readonly schema?: string;
  /**
   * How long each statement, and waiting for somebody else who migrates or still uses an old version, may take, in
   * milliseconds. Default 15,000.
   */
  readonly timeoutMs?: number;
  /** Clocks and timers; for tests. Default those of this process. */
  readonly runtime?: Runtime;
}

export interface Migration {
  /** The version that was there; 0: nothing. */
  readonly from: number;
  /** The version that is there now. */
  readonly to: number;
}

/**
 * Creates what leases need in a schema of a PostgreSQL database, or brings it to this version: tables and functions, in one
 * transaction. `tenure migrate --url postgres://...` calls this.
 *
 * Safe to call at every start, and by many processes at once: they wait for each other, and whoever finds it done changes
 * nothing, and needs no privilege to create anything. The fence's tables may stand in the same schema; they have a
 * `migrate` of their own.
 *
 * @param urlOrPool a URL (needs the package `pg`), or your own `Pool`, which is not closed.
 * @throws {OptionError} if the URL, the pool or an option is not usable.
 * @throws {StoreMisconfiguredError} if a newer tenure has migrated the schema, or the role may not create it.
 */
export async function migratePostgres(
  urlOrPool: string | URL | PostgresPool,
  options: MigratePostgresOptions = {},
): Promise<Migration> {
  const known = { schema: true, timeoutMs: true, runtime: true } as const;
  const { timeoutMs = 15_000 } = requireKnown('options', options, known);
  const { source, schema } = placeOf(urlOrPool, options.schema);
  checkTimeout({ timeoutMs });
  const runtime = requireRuntime(options.runtime);
  const quoted = quoteSchema(schema);
  const pool = new PostgresPoolHandle(source, {
    runtime,
    timeoutMs,
    maxConnections: 1,
    // Set for the transaction instead: a pooler in between refuses settings that come with the connection.
    statementTimeoutMs: 0,
    lockTimeoutMs: 0,
    idleInTransactionTimeoutMs: 0,
  });
  const what = `the migration of schema "${schema}"`;
  const own = { runtime, timeoutMs: timeoutMs + 1_000, what };
  const limitMs = Math.ceil(timeoutMs);
  // What a role has as its default must not decide whether two migrations see each other.
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = ${limitMs}; SET LOCAL idle_in_transaction_session_timeout = ${limitMs}`;
  try {
    return await pool.withSession(what, (session) =>
      runTransaction(session, { begin, ask: own }, (client) =>
        migrate(client, own, schema, quoted),
      ),
    );
  } finally {
    await pool.close();
  }
}

/** The SQL that `migratePostgres` runs in an empty schema, for a migration tool of your own: in one transaction. */
export function postgresSchemaSql(schema = 'tenure'): string {
  const quoted = quoteSchema(schema);
  return [
    `CREATE SCHEMA IF NOT EXISTS ${quoted};`,
    createVersions(quoted),
    ...migrationSteps(quoted),
    `${noteVersion(quoted, schemaVersion)};`,
  ].join('\n');
}

interface Asking {
  readonly runtime: Runtime;
  readonly timeoutMs: number;
  readonly what: string;
}

async function migrate(
  client: PostgresClient,
  own: Asking,
  schema: string,
  quoted: string,
): Promise<Migration> {
  const run = <Row extends object>(text: string, values?: unknown[]) =>
    ask<Row>(client, { ...own, phase: 'transaction' }, text, values);
  // `IF NOT EXISTS` alone fails when two create at once, and needs the privilege to create even if all is there.
  await run('SELECT pg_advisory_xact_lock($1)', [migrationLockKey]);
  const from = await versionOf(run, quoted);
  if (from > schemaVersion) throw tooNew(schema, from);
  if (from === schemaVersion) return { from, to: from };
  if (!(await exists(run, 'to_regnamespace', quoted))) await run(`CREATE SCHEMA ${quoted}`);
  if (!(await exists(run, 'to_regclass', `${quoted}.versions`))) await run(createVersions(quoted));
  for (const step of migrationSteps(quoted).slice(from)) await run(step);
  await run(noteVersion(quoted, schemaVersion));
  return { from, to: schemaVersion };
}

type Run = <Row extends object>(text: string, values?: unknown[]) => Promise<{ rows: Row[] }>;

async function exists(run: Run, kind: string, name: string): Promise<boolean> {
  const { rows } = await run<{ found: boolean }>(`SELECT ${kind}($1) IS NOT NULL AS found`, [name]);
  return rows[0]?.found === true;
}

async function versionOf(run: Run, quoted: string): Promise<number> {
  if (!(await exists(run, 'to_regclass', `${quoted}.versions`))) return 0;
  const { rows } = await run<{ version: number | null }>(
    `SELECT max(version) AS version FROM ${quoted}.versions WHERE part = 'leases'`,
  );
  return rows[0]?.version ?? 0;
}

const createVersions = (quoted: string) =>
  `CREATE TABLE ${quoted}.versions (part text PRIMARY KEY, version integer NOT NULL, migrated_at timestamptz NOT NULL DEFAULT clock_timestamp());`;

const noteVersion = (quoted: string, version: number) =>
  `INSERT INTO ${quoted}.versions (part, version) VALUES ('leases', ${version})
ON CONFLICT (part) DO UPDATE SET version = excluded.version, migrated_at = excluded.migrated_at`;
