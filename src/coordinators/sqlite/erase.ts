import { SqliteSession } from '../../drivers/sqlite/index.js';
import { realRuntime } from '../../time/index.js';
import { validateName } from '../names.js';
import { leaseSchema } from './schema.js';

const timeoutMs = 5_000;
const tables = [
  ...['lease', 'suspension', 'candidate', 'history', 'history_use', 'document', 'wake'],
  // Last, since it holds the last term.
  'namespace',
];

/**
 * Deletes everything the leases of a namespace left in a file. For namespaces of one run only, whose clients are all gone.
 *
 * @throws {OptionError}, {@link UnreachableError}; repeating it is harmless.
 */
export async function eraseSqliteLeases(path: string, namespace: string): Promise<void> {
  validateName(namespace, 'namespace');
  const what = 'the eraser';
  const session = new SqliteSession({
    what,
    path,
    schema: leaseSchema,
    runtime: realRuntime,
    createDirectory: false,
  });
  try {
    await session.call('erase', 'write', timeoutMs, (transaction) => {
      for (const table of tables)
        transaction.run(`DELETE FROM ${table} WHERE namespace = ?`, namespace);
    });
  } finally {
    await session.close();
  }
}
