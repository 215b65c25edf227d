import { postgresPromises } from '../../coordinators/postgres/promises.js';
import { quoteSchema } from '../../drivers/postgres/identifiers.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Purpose } from '../finding.js';
import { postgresChecks } from './judge.js';
import { lookAtDatabase } from './look.js';

export interface PostgresPurpose extends Purpose {
  /** That of tenure's tables. Default `tenure`. */
  readonly schema?: string | undefined;
}

/**
 * Looks at a database. Changes nothing there.
 *
 * @param url without a schema.
 * @throws {OptionError} for a schema that is none, or without the package `pg`. @throws {TenureError} if it cannot be
 * reached, or lets nobody in.
 */
export async function examinePostgres(
  url: string,
  { schema = 'tenure', ...purpose }: PostgresPurpose,
): Promise<Examination> {
  const quoted = quoteSchema(schema);
  const facts = await lookAtDatabase(url, schema, purpose);
  return {
    promises: postgresPromises,
    findings: [
      ...judgeAll(checksEverywhere, facts, purpose),
      ...judgeAll(postgresChecks, facts, purpose),
    ],
    leastRights: leastRights(quoted === `"${schema.toLowerCase()}"` ? schema : quoted),
  };
}

function leastRights(schema: string): string[] {
  return [
    "CREATE ROLE leaser LOGIN PASSWORD 'PASSWORD';",
    `GRANT USAGE ON SCHEMA ${schema} TO leaser;`,
    'GRANT SELECT, INSERT, UPDATE, DELETE',
    `  ON ALL TABLES IN SCHEMA ${schema} TO leaser;`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO leaser;`,
    'GRANT pg_read_all_stats TO leaser;',
  ];
}
