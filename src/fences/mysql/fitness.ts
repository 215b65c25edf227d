import { StoreMisconfiguredError } from '../../errors/index.js';
import { ofKind } from '../../errors/kinds.js';
import type { ResolvedOptions } from './options.js';
import type { FitRow } from './statements.js';

/** @throws {StoreMisconfiguredError} if the server cannot keep what the fence promises on it. */
export function assertFit(row: FitRow, { durability }: ResolvedOptions, what: string): void {
  const reason = unfitness(row, durability);
  if (reason === undefined) return;
  const kind = reason === readOnly ? 'replica' : 'denied';
  throw ofKind(kind, new StoreMisconfiguredError(`${what} was refused: ${reason}.`));
}

const readOnly = 'read_only is on, as on a replica; connect to the primary';

function unfitness(row: FitRow, durability: 'crash' | 'process'): string | undefined {
  if (!isKnown(String(row.version)))
    return `the server is version ${row.version}; use MariaDB from 10.3 or MySQL from 8.0`;
  // An account that may write nevertheless would write past the fence of the primary.
  if (isOn(row.readOnly)) return readOnly;
  if (durability === 'process') return undefined;
  if (!['1', '3'].includes(String(row.flushLog))) {
    return `innodb_flush_log_at_trx_commit is ${row.flushLog}, so a crash may forget terms that were installed; set it to 1, or choose durability: 'process'`;
  }
  // The binary log decides in recovery which transactions were committed.
  if (isOn(row.logBin) && String(row.syncBinlog) !== '1') {
    return `sync_binlog is ${row.syncBinlog} and a binary log is kept, so a crash may forget terms that were installed; set it to 1, or choose durability: 'process'`;
  }
  return undefined;
}

/** Versions have it as a number or as a word. */
function isOn(setting: unknown): boolean {
  return !['0', 'OFF', 'false'].includes(String(setting));
}

function isKnown(version: string): boolean {
  const [, major = 0, minor = 0] = /^(\d+)\.(\d+)/.exec(version)?.map(Number) ?? [];
  return /mariadb/i.test(version) ? major > 10 || (major === 10 && minor >= 3) : major >= 8;
}

/**
 * @param createStatement as the server shows it.
 * @throws {StoreMisconfiguredError} unless the table has transactions and locks of rows as the fence needs them.
 */
export function assertEngine(createStatement: string, table: string, what: string): void {
  const [, engine] = /\)\s*ENGINE\s*=\s*(\w+)/i.exec(createStatement) ?? [];
  if (engine?.toLowerCase() === 'innodb') return;
  const remedy = `run ALTER TABLE ${table} ENGINE = InnoDB`;
  const seen =
    engine === undefined
      ? 'has an engine that this sql_mode does not show; leave NO_TABLE_OPTIONS, and the modes that imply it, out'
      : `has the engine ${engine}, on which nothing would be guarded; ${remedy}`;
  throw new StoreMisconfiguredError(`${what} was refused: the table ${table} ${seen}.`);
}
