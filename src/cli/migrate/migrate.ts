import { type Migration, migratePostgres } from '../../coordinators/postgres/index.js';
import { OptionError } from '../../errors/index.js';
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
  const migration = await naming(places, () =>
    migratePostgres(withSchema(url, undefined), { schema }),
  );
  const store = addressOf(withSchema(url, schema === defaultSchema ? undefined : schema));
  if (format === 'json') terminal.print(jsonText({ store, schema, ...migration }, 2));
  else terminal.print(`schema ${schema}: ${said(migration)}`);
  return true;
}

function said({ from, to }: Migration): string {
  if (from === to) return `version ${to}, nothing to do`;
  return from === 0 ? `created, version ${to}` : `from version ${from} to ${to}`;
}
