import { OptionError } from '../../errors/index.js';
import { mysqlFence } from '../../fences/mysql/index.js';
import { naming } from '../naming.js';
import type { Setting } from '../settings/index.js';
import type { MigratedPart } from './parts.js';

/** Of all parts a fence alone can stand there. @throws {OptionError} if another one is asked for. */
export function mysqlParts(only: readonly MigratedPart[] | undefined): readonly MigratedPart[] {
  const other = only?.find((part) => part !== 'fence');
  if (other === undefined) return ['fence'];
  const remedy = 'use fence, or the URL of a PostgreSQL database';
  throw new OptionError('--only', other, 'has no tables in MariaDB and MySQL', remedy);
}

/** @param database in which the tables are to stand, whatever the URL names. */
export async function migrateMysql(
  { value: url, source }: Setting<string>,
  database: string,
): Promise<void> {
  await naming({ url: source, database: '--schema' }, async () => {
    const fence = mysqlFence(url, { database });
    try {
      await fence.migrate();
    } finally {
      await fence.close();
    }
  });
}
