import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { sqlitePromises } from '../../coordinators/sqlite/promises.js';
import { loadSqlite } from '../../drivers/sqlite/client.js';
import { requireLocalFileSystem } from '../../drivers/sqlite/file-systems.js';
import { findLockHolder } from '../../drivers/sqlite/lock-holder.js';
import { OptionError, StoreMisconfiguredError } from '../../errors/index.js';
import type { FileFacts, FileHead, FileSystemFacts, FolderFacts, SqliteFacts } from './facts.js';
import { mountOf } from './mounts.js';

/**
 * All that is looked at around a file. It is not opened as a database, since that makes two files beside it; its head is
 * read as it stands. So let no process look that has the file open: closing it drops the locks of the whole process.
 */
export async function lookAtFile(path: string, makesFolder: boolean): Promise<SqliteFacts> {
  const file = lookAtItself(path);
  return {
    promises: sqlitePromises,
    path,
    missingLibrary: await missingLibrary(),
    folder: lookAtFolder(dirname(path), makesFolder),
    ...(file !== undefined && { file }),
    lockHolder: findLockHolder(path),
    uid: process.getuid?.(),
  };
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
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory())
    return { path, isThere: false, isMadeWhenNeeded, isWritable: false, isOpenToAll: false };
  // In one with the sticky bit, such as /tmp, only its owner may replace a file.
  const isSticky = (stats.mode & 0o1000) !== 0;
  return {
    path,
    isThere: true,
    isMadeWhenNeeded,
    isWritable: isAllowed(path, constants.W_OK | constants.X_OK),
    isOpenToAll: (stats.mode & 0o002) !== 0 && !isSticky,
    fileSystem: lookAtFileSystem(path),
  };
}

function lookAtFileSystem(folder: string): FileSystemFacts {
  const { bavail, bsize } = statfsSync(folder);
  const shared = sharedKind(folder);
  const mount = mountOf(readMounts(), realpathSync(folder));
  return {
    kind: shared ?? mount?.kind ?? 'a file system',
    isShared: shared !== undefined,
    isReadOnly: mount?.isReadOnly ?? false,
    freeBytes: bavail * bsize,
  };
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

function lookAtItself(path: string): FileFacts | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const isWritable = isAllowed(path, constants.R_OK | constants.W_OK);
  return {
    isFile: stats.isFile(),
    isWritable,
    uid: stats.uid,
    mode: stats.mode,
    sizeBytes: stats.size,
    head: stats.isFile() && isWritable ? readHead(path) : undefined,
    logBytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
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
