import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { sqlitePromises } from '../../coordinators/sqlite/promises.js';
import { loadSqlite } from '../../drivers/sqlite/client.js';
import { requireLocalFileSystem } from '../../drivers/sqlite/file-systems.js';
import { findLockHolder } from '../../drivers/sqlite/lock-holder.js';
import { OptionError, StoreMisconfiguredError } from '../../errors/index.js';
import type { Purpose } from '../finding.js';
import { lookInside } from './content.js';
import type { FileFacts, FileHead, FileSystemFacts, FolderFacts, SqliteFacts } from './facts.js';
import { mountOf } from './mounts.js';

/**
 * All that is looked at around a file. It is not opened as a database, since that makes two files beside it; its head is
 * read as it stands, and the rest from a copy. So let no process look that has the file open: closing it drops the locks
 * of the whole process.
 */
export async function lookAtFile(
  path: string,
  makesFolder: boolean,
  purpose: Purpose,
): Promise<SqliteFacts> {
  const itself = lookAtItself(path);
  const isDatabase = itself.file?.head !== undefined && itself.file.closedBeside === undefined;
  return {
    promises: sqlitePromises,
    path,
    missingLibrary: await missingLibrary(),
    folder: lookAtFolder(dirname(path), makesFolder),
    ...itself,
    ...(isDatabase && { content: await lookInside(path, purpose) }),
    lockHolder: findLockHolder(path),
    uid: process.getuid?.(),
  };
}

type Entry = { readonly stats?: Stats; readonly refusal?: string };

/** Follows links. Nothing in it: there is nothing of that name. */
function entryAt(path: string): Entry {
  try {
    return { stats: statSync(path) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    // `throwIfNoEntry` takes a path through a file for no entry, too, but not on every Node.
    return code === 'ENOENT' ? {} : { refusal: code };
  }
}

async function missingLibrary(): Promise<string | undefined> {
  try {
    await loadSqlite();
    return undefined;
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return error.message;
  }
}

function lookAtFolder(path: string, isMadeWhenNeeded: boolean): FolderFacts {
  const { stats, refusal } = entryAt(path);
  const nothing = { path, isThere: false, isMadeWhenNeeded, isWritable: false, isOpenToAll: false };
  if (refusal !== undefined) return { ...nothing, refusal };
  if (stats === undefined)
    return { ...nothing, isMadeWhenNeeded: isMadeWhenNeeded && mayBeMade(path) };
  if (!stats.isDirectory()) return { ...nothing, refusal: 'ENOTDIR' };
  // In one with the sticky bit, such as /tmp, only its owner may replace a file.
  const isSticky = (stats.mode & 0o1000) !== 0;
  const fileSystem = lookAtFileSystem(path);
  return {
    path,
    isThere: true,
    isMadeWhenNeeded,
    isWritable: isAllowed(path, constants.W_OK | constants.X_OK),
    isOpenToAll: (stats.mode & 0o002) !== 0 && !isSticky,
    ...(fileSystem !== undefined && { fileSystem }),
  };
}

/** The lowest folder above it that is there can be written to. */
function mayBeMade(path: string): boolean {
  const above = dirname(path);
  const { stats, refusal } = entryAt(above);
  if (refusal !== undefined || above === path) return false;
  if (stats === undefined) return mayBeMade(above);
  return stats.isDirectory() && isAllowed(above, constants.W_OK | constants.X_OK);
}

function lookAtFileSystem(folder: string): FileSystemFacts | undefined {
  try {
    const { bavail, bfree, bsize } = statfsSync(folder);
    const shared = sharedKind(folder);
    const mount = mountOf(readMounts(), realpathSync(folder));
    return {
      kind: shared ?? mount?.kind ?? 'a file system',
      isShared: shared !== undefined,
      isReadOnly: mount?.isReadOnly ?? false,
      // Some of it is for root alone.
      freeBytes: (process.getuid?.() === 0 ? bfree : bavail) * bsize,
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}

/** What the driver refuses. */
function sharedKind(folder: string): string | undefined {
  try {
    requireLocalFileSystem(folder);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreMisconfiguredError)) throw error;
    return /is on an? (.+?) file system/.exec(error.message)?.[1] ?? 'a shared file system';
  }
}

/** Elsewhere than on Linux there is none. */
function readMounts(): string {
  try {
    return readFileSync('/proc/mounts', 'utf8');
  } catch {
    return '';
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function lookAtItself(path: string): Pick<SqliteFacts, 'file' | 'fileRefusal' | 'deadLink'> {
  const { stats, refusal } = entryAt(path);
  if (refusal !== undefined) return { fileRefusal: refusal };
  if (stats === undefined) {
    return isLink(path) ? { deadLink: readlinkSync(path) } : {};
  }
  const isReadable = isAllowed(path, constants.R_OK);
  const closedBeside = ['-wal', '-shm']
    .map((end) => path + end)
    .find((one) => existsSync(one) && !isAllowed(one, constants.R_OK | constants.W_OK));
  const file: FileFacts = {
    isFile: stats.isFile(),
    isReadable,
    isWritable: isAllowed(path, constants.R_OK | constants.W_OK),
    ...(closedBeside !== undefined && { closedBeside }),
    uid: stats.uid,
    mode: stats.mode,
    sizeBytes: stats.size,
    head: stats.isFile() && isReadable ? readHead(path) : undefined,
    logBytes: entryAt(`${path}-wal`).stats?.size ?? 0,
  };
  return { file };
}

const headBytes = 100;
const magic = 'SQLite format 3\0';

/** See https://sqlite.org/fileformat.html, "The Database Header". */
function readHead(path: string): FileHead | undefined {
  const head = Buffer.alloc(headBytes);
  const descriptor = openSync(path, 'r');
  try {
    const count = readSync(descriptor, head, 0, headBytes, 0);
    if (count < headBytes || head.toString('latin1', 0, magic.length) !== magic) return undefined;
  } finally {
    closeSync(descriptor);
  }
  return { isWal: head[18] === 2, applicationId: head.readUInt32BE(68) };
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
