import { type Migration, migratePostgres } from '../../coordinators/postgres/index.js';
import {
  ask,
  migrationLockKey,
  type PostgresPool,
  PostgresPoolHandle,
  runTransaction,
} from '../../drivers/postgres/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { createOnce, part, schemaVersion } from './schema.js';

interface MigrationParts {
  readonly schema: string;
  readonly quotedSchema: string;
  readonly runtime: Runtime;
}

const timeoutMs = 15_000;

/** Brings the schema to this version: what the leases need, then the table of keys and its functions. */
export async function migrateOnce(
  source: string | PostgresPool,
  { schema, quotedSchema, runtime }: MigrationParts,
): Promise<Migration> {
  await migratePostgres(source, { schema, runtime });
  const pool = new PostgresPoolHandle(source, {
    ...{ runtime, timeoutMs, maxConnections: 1 },
    // Set for the transaction instead: a pooler in between refuses settings that come with the connection.
    ...{ statementTimeoutMs: 0, lockTimeoutMs: 0, idleInTransactionTimeoutMs: 0 },
  });
  const what = `the migration of keys in schema "${schema}"`;
  const own = { runtime, timeoutMs: timeoutMs + 1_000, what };
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = ${timeoutMs}`;
  try {
    return await pool.withSession(what, (session) =>
      runTransaction(session, { begin, ask: own }, async (client) => {
        const asking = { ...own, phase: 'transaction' } as const;
        await ask(client, asking, 'SELECT pg_advisory_xact_lock($1)', [migrationLockKey]);
        const text = `SELECT version FROM ${quotedSchema}.versions WHERE part = '${part}'`;
        const { rows } = await ask<{ version: number }>(client, asking, text);
        const version = rows[0]?.version ?? 0;
        if (version > schemaVersion) throw tooNew(schema, version);
        if (version === 0) await ask(client, asking, createOnce(quotedSchema));
        return { from: version, to: schemaVersion };
      }),
    );
  } finally {
    await pool.close();
  }
}

export function tooNew(schema: string, version: number): StoreMisconfiguredError {
  return new StoreMisconfiguredError(
    `a newer tenure has migrated the keys in schema "${schema}" (version ${version}; this one knows ${schemaVersion}). Upgrade tenure here.`,
  );
}
