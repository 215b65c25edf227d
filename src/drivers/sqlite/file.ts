import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { requireLocalFileSystem, type StatFileSystem } from './file-systems.js';

/** Which file it is, whatever its name: another one under the same name is another store. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
}

export interface FileOptions {
  /** Creates the folder, and those above it, if they are not there. */
  readonly createDirectory: boolean;
  readonly statFileSystem?: StatFileSystem | undefined;
}

/**
 * Makes sure of the file before SQLite opens it: its folder can be written to and is local, and a new file is readable by
 * its owner alone, since who reads it learns the nonces of holders. SQLite gives its own files beside it the same mode.
 *
 * @returns what a person should know of the file, or `undefined`.
 * @throws {StoreMisconfiguredError} or {@link UnreachableError}, which may pass.
 */
export function prepareFile(path: string, options: FileOptions): string | undefined {
  const folder = dirname(path);
  return explaining(path, () => {
    if (options.createDirectory) mkdirSync(folder, { recursive: true, mode: 0o700 });
    requireFolder(folder);
    requireLocalFileSystem(folder, options.statFileSystem);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) create(path);
    else requireWritableFile(path, stats);
    return stats === undefined ? undefined : warningAbout(path, stats);
  });
}

function requireFolder(folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new StoreMisconfiguredError(`the folder ${folder} does not exist. Create it.`);
  if (!stats.isDirectory())
    throw new StoreMisconfiguredError(`${folder} is not a folder. Choose another path.`);
  // SQLite keeps two more files beside its own.
  accessSync(folder, constants.W_OK | constants.X_OK);
}

function requireWritableFile(path: string, stats: Stats): void {
  if (!stats.isFile())
    throw new StoreMisconfiguredError(`${path} is not a file. Choose another path.`);
  accessSync(path, constants.R_OK | constants.W_OK);
}

function create(path: string): void {
  // A new file is made under this name itself, never at the far end of a link.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new StoreMisconfiguredError(
      `${path} is a symbolic link to a file that does not exist. Give the path of the file itself, which is then made, or mend the link.`,
    );
  createPrivately(path);
}

function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function warningAbout(path: string, { mode }: Stats): string | undefined {
  if ((mode & 0o007) === 0 || process.platform === 'win32') return undefined;
  return `${path} is open to every user of this machine (mode ${(mode & 0o777).toString(8)}), who may end and take leases with what they read: chmod 600`;
}

/** Which file is under the path now; `undefined` if there is none. One system call, without opening anything. */
export function identifyFile(path: string): FileIdentity | undefined {
  return explaining(path, () => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && { device: stats.dev, inode: stats.ino };
  });
}

export function isSameFile(one: FileIdentity, other: FileIdentity | undefined): boolean {
  return one.device === other?.device && one.inode === other.inode;
}

/** What stays as it is until somebody changes it; any other failure of the file system may pass. */
const lasting: Readonly<Record<string, string>> = {
  EACCES: 'Give this user the right to write to the file and its folder.',
  EPERM: 'Give this user the right to write to the file and its folder.',
  EROFS: 'The file system is read-only: choose a path on another one.',
  ENOENT: 'Create the folder.',
  ENOTDIR: 'Something in its path is not a folder: choose another path.',
  ELOOP: 'Its symbolic links lead in a circle: mend them.',
  ENAMETOOLONG: 'Choose a shorter path.',
};

function explaining<Value>(path: string, act: () => Value): Value {
  try {
    return act();
  } catch (error) {
    const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
    if (code === undefined || code.startsWith('TENURE_')) throw error;
    const remedy = lasting[code];
    if (remedy !== undefined)
      throw new StoreMisconfiguredError(`${path} cannot be used (${code}). ${remedy}`, error);
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new StoreRefusedError(
        code,
        `${path} cannot be made: the disk is full. Make room.`,
        error,
      );
    throw unreachable(undefined, `${path} cannot be reached (${code}).`, error);
  }
}
