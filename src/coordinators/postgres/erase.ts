import { ask, PostgresPoolHandle, quoteSchema } from '../../drivers/postgres/index.js';
import { realRuntime } from '../../time/index.js';
import { validateName } from '../names.js';

const timeoutMs = 5_000;
const tables = [
  ...['leases', 'suspensions', 'candidates', 'history', 'histories', 'documents'],
  // Last, since it holds the last term.
  'namespaces',
];

/**
 * Deletes everything the leases of a namespace left in a schema. For namespaces of one run only, whose clients are all
 * gone: without the last term, later terms rise above earlier ones only as far as the server's clock did.
 *
 * @throws {OptionError}, {@link UnreachableError}, {@link OutcomeUnknownError}; repeating it is harmless.
 */
export async function erasePostgresLeases(
  url: string,
  { namespace, schema = 'tenure' }: { readonly namespace: string; readonly schema?: string },
): Promise<void> {
  validateName(namespace, 'namespace');
  const quoted = quoteSchema(schema);
  const pool = new PostgresPoolHandle(url, {
    runtime: realRuntime,
    timeoutMs,
    maxConnections: 1,
    statementTimeoutMs: 0,
    lockTimeoutMs: 0,
    idleInTransactionTimeoutMs: 0,
  });
  const what = 'the removal of a namespace';
  const asking = { runtime: realRuntime, timeoutMs, phase: 'transaction', what } as const;
  try {
    await pool.withSession(what, async ({ client }) => {
      for (const table of tables)
        await ask(client, asking, `DELETE FROM ${quoted}.${table} WHERE namespace = $1`, [
          namespace,
        ]);
    });
  } finally {
    await pool.close();
  }
}
