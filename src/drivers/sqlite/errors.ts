import {
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
} from '../../errors/index.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';

/** What SQLite was doing: a commit that fails may yet be found in the file, anything before it not. */
export type SqlitePhase = 'open' | 'transaction' | 'commit';

/** SQLite's result codes; an extended one has its primary one in the low byte. See https://sqlite.org/rescode.html. */
const names: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  3: 'SQLITE_PERM',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
};

const primary = (code: number) => code & 0xff;
const nameOf = (code: number) => names[primary(code)] ?? `SQLITE_${code}`;

/** Somebody else has the lock that is needed: it may be free a moment later. 15 is a lost race for it. */
export function isBusyCode(code: number | undefined): boolean {
  return code !== undefined && [5, 6, 15].includes(primary(code));
}

/** SQLITE_READONLY_DBMOVED: the file that is open is not under its name any more. */
export function isMovedCode(code: number | undefined): boolean {
  return code === 1032;
}

/** Whether the connection can be used on: after these nobody knows in which state it is. */
export function breaksConnection(code: number): boolean {
  return [7, 10, 11, 14, 26].includes(primary(code));
}

/** A failure of SQLite's as one of tenure's. Its own words go no further: a constraint's may hold what was written. */
export function sqliteError(
  code: number,
  phase: SqlitePhase,
  operation: string,
  path: string,
): TenureError {
  const was = `${operation} on ${path}`;
  const name = nameOf(code);
  switch (primary(code)) {
    case 5:
    case 6:
    case 15:
    case 14:
      return unreachable('unreachable', `${was} was not executed: ${name} (${code}).`);
    case 3:
    case 8:
    case 23:
      return new StoreMisconfiguredError(
        `${was} was refused: the file is read-only for this process. Give this user the right to write to it and to its folder.`,
      );
    case 11:
      return new RecordCorruptError(
        `${was} was refused: the file is damaged (${name}). Stop every process that uses it, move it and its -wal and -shm files away, and start again: a new file is made, whose terms are higher as long as the clock is right.`,
      );
    case 26:
      return new StoreMisconfiguredError(
        `${path} is not a SQLite database. It was left as it is: choose another path, or remove it.`,
      );
    case 13:
      return new StoreRefusedError(
        name,
        `${was} was refused, nothing was written: the disk is full. Make room; leases run out meanwhile.`,
      );
    case 10:
      if (phase !== 'commit') break;
      return outcomeUnknown(
        undefined,
        `${was} failed while it was being written (${name}, ${code}): it may be found executed after a restart. Look at the disk.`,
      );
    case 1:
      return new StoreMisconfiguredError(
        `${was} was refused: the tables in the file are not those of tenure (${name}). Choose another path, or remove the file.`,
      );
  }
  return new StoreRefusedError(name, `${was} was refused, nothing was written: ${name} (${code}).`);
}
