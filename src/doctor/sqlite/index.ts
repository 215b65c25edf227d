import { sqlitePromises } from '../../coordinators/sqlite/promises.js';
import { sqlitePath } from '../../drivers/sqlite/location.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Purpose } from '../finding.js';
import { sqliteChecks } from './judge.js';
import { lookAtFile } from './look.js';

export interface SqlitePurpose extends Purpose {
  /** Its folder is made by whoever opens it first. Default `false`. */
  readonly createDirectory?: boolean;
}

/**
 * Looks at a file, and what it lies on. Changes and creates nothing. Not for a process that has the file open.
 *
 * @throws {OptionError} for a path that is none.
 */
export async function examineSqlite(
  path: string,
  { createDirectory = false, ...purpose }: SqlitePurpose,
): Promise<Examination> {
  const facts = await lookAtFile(sqlitePath(path), createDirectory, purpose);
  return {
    promises: sqlitePromises,
    findings: [
      ...judgeAll(checksEverywhere, facts, purpose),
      ...judgeAll(sqliteChecks, facts, purpose),
    ],
    leastRights: [],
  };
}
