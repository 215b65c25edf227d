import { type Migration, migratePostgres } from '../../coordinators/postgres/index.js';
import { OptionError } from '../../errors/index.js';
import { postgresJobs } from '../../schedule/postgres/index.js';
import { jsonText } from '../display/visible.js';
import { naming } from '../naming.js';
import { schemaOf, withSchema } from '../postgres-url.js';
import type { Setting } from '../settings/index.js';
import { sharedForms } from '../store-kinds.js';
import { addressOf, storeKindOf } from '../store-url.js';
import type { Terminal } from '../terminal.js';

const defaultSchema = 'tenure';

/** @param named the schema that a flag names. @throws {OptionError} and the errors of the database. */
export async function migrate(
  { value: url, source }: Setting<string>,
  named: string | undefined,
  format: 'text' | 'json',
  terminal: Terminal,
): Promise<boolean> {
  if (storeKindOf(url, source) !== 'postgres') {
    const problem = 'names a store that needs no migration';
    throw new OptionError(source, addressOf(url), problem, `use ${sharedForms.postgres}`);
  }
  const schema = named ?? schemaOf(url) ?? defaultSchema;
  const places = { url: source, schema: named === undefined ? `${source}: schema` : '--schema' };
  const plainUrl = withSchema(url, undefined);
  const migration = await naming(places, () => migratePostgres(plainUrl, { schema }));
  const jobs = await migrateJobs(plainUrl, schema);
  const store = addressOf(withSchema(url, schema === defaultSchema ? undefined : schema));
  if (format === 'json') terminal.print(jsonText({ store, schema, ...migration, jobs }, 2));
  else {
    terminal.print(`schema ${schema}: ${said(migration)}`);
    terminal.print(`jobs in schema ${schema}: ${said(jobs)}`);
  }
  return true;
}

/** Whoever schedules nothing has three empty tables more, and nobody has to run this again who begins to. */
async function migrateJobs(url: string, schema: string): Promise<Migration> {
  const store = postgresJobs(url, { schema });
  try {
    return await store.migrate();
  } finally {
    await store.close();
  }
}

function said({ from, to }: Migration): string {
  if (from === to) return `version ${to}, nothing to do`;
  return from === 0 ? `created, version ${to}` : `from version ${from} to ${to}`;
}
