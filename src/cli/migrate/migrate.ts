import { type Migration, migratePostgres } from '../../coordinators/postgres/index.js';
import { OptionError } from '../../errors/index.js';
import { postgresFence } from '../../fences/postgres/index.js';
import { postgresOnce } from '../../once/postgres/index.js';
import { postgresJobs } from '../../schedule/postgres/index.js';
import { jsonText } from '../display/visible.js';
import { naming } from '../naming.js';
import { schemaOf, withSchema } from '../postgres-url.js';
import type { Setting } from '../settings/index.js';
import { sharedForms } from '../store-kinds.js';
import { addressOf, storeKindOf } from '../store-url.js';
import type { Terminal } from '../terminal.js';
import { migrateMysql, mysqlParts } from './mysql.js';
import { isMysqlUrl, mysqlForm } from './mysql-url.js';
import { type MigratedPart, parts } from './parts.js';

const defaultSchema = 'tenure';

export interface MigrateOrder {
  /** As a flag names it. */
  readonly schema: string | undefined;
  /** `undefined`: all. */
  readonly only: readonly MigratedPart[] | undefined;
  readonly format: 'text' | 'json';
}

/** @throws {OptionError} and the errors of the database. */
export async function migrate(
  url: Setting<string>,
  order: MigrateOrder,
  terminal: Terminal,
): Promise<boolean> {
  const { store, schema, done } = isMysqlUrl(url.value)
    ? await inMysql(url, order)
    : await inPostgres(url, order);
  if (order.format === 'json') terminal.print(jsonText({ store, schema, ...asJson(done) }, 2));
  else for (const [part, migration] of done) terminal.print(said(part, schema, migration));
  return true;
}

interface Migrated {
  /** Its address. */
  readonly store: string;
  readonly schema: string;
  readonly done: ReadonlyMap<MigratedPart, Migration | undefined>;
}

async function inMysql(
  url: Setting<string>,
  { schema = defaultSchema, only }: MigrateOrder,
): Promise<Migrated> {
  const parts = mysqlParts(only);
  await migrateMysql(url, schema);
  const done = new Map(parts.map((part) => [part, undefined]));
  return { store: addressOf(url.value), schema, done };
}

async function inPostgres(
  { value: url, source }: Setting<string>,
  { schema: named, only = parts }: MigrateOrder,
): Promise<Migrated> {
  const use = `use ${sharedForms.postgres}, or ${mysqlForm} for a fence there`;
  if (storeKindOf(url, source, use) !== 'postgres') {
    const problem = 'names a store that needs no migration';
    throw new OptionError(source, addressOf(url), problem, use);
  }
  const schema = named ?? schemaOf(url) ?? defaultSchema;
  const places = { url: source, schema: named === undefined ? `${source}: schema` : '--schema' };
  const plainUrl = withSchema(url, undefined);
  const done = new Map<MigratedPart, Migration | undefined>();
  for (const part of only)
    done.set(part, await naming(places, () => migrations[part](plainUrl, schema)));
  const store = addressOf(withSchema(url, schema === defaultSchema ? undefined : schema));
  return { store, schema, done };
}

/**
 * Whoever needs only some of it has a few empty tables more, and nobody has to run this again who begins to use the rest.
 * A fence does not count versions, nor tell whether its tables were there before.
 */
const migrations: Readonly<
  Record<MigratedPart, (url: string, schema: string) => Promise<Migration | undefined>>
> = {
  leases: (url, schema) => migratePostgres(url, { schema }),
  jobs: (url, schema) => closing(postgresJobs(url, { schema }), (store) => store.migrate()),
  fence: (url, schema) =>
    closing(postgresFence(url, { schema }), async (fence) => {
      await fence.migrate();
      return undefined;
    }),
  once: (url, schema) => closing(postgresOnce(url, { schema }), (store) => store.migrate()),
};

async function closing<Owner extends { close(): Promise<void> }, Answer>(
  owner: Owner,
  use: (owner: Owner) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await use(owner);
  } finally {
    await owner.close();
  }
}

function asJson(done: ReadonlyMap<MigratedPart, Migration | undefined>): object {
  const { leases, ...others } = Object.fromEntries(
    [...done].map(([part, migration]) => [part, migration ?? {}]),
  );
  return { ...leases, ...others };
}

const headings: Readonly<Record<MigratedPart, string>> = {
  leases: '',
  jobs: 'jobs in ',
  fence: 'fence in ',
  once: 'once in ',
};

function said(part: MigratedPart, schema: string, migration: Migration | undefined): string {
  return `${headings[part]}schema ${schema}: ${migration === undefined ? 'its tables are there, made now or before' : saidOf(migration)}`;
}

function saidOf({ from, to }: Migration): string {
  if (from === to) return `version ${to}, nothing to do`;
  return from === 0 ? `created, version ${to}` : `from version ${from} to ${to}`;
}
