import { leaseSchema } from '../../coordinators/sqlite/schema.js';
import { type Check, critical, note, ok, warning } from '../check.js';
import { sayBytes } from '../say.js';
import type { SqliteFacts } from './facts.js';

/** A checkpoint keeps it at about 4 MiB; what lets it grow is a reader that does not end. */
const longLogBytes = 256 * 1024 * 1024;
const littleRoomBytes = 64 * 1024 * 1024;
/** They end with the container, or with the machine. */
const passing: Readonly<Record<string, string>> = {
  overlay: 'with its container',
  tmpfs: 'with the machine',
  ramfs: 'with the machine',
};

export const sqliteChecks: readonly Check<SqliteFacts>[] = [
  {
    id: 'sqlite-library',
    severities: ['critical'],
    risk: 'nothing here reads the file: every lease is refused',
    remedy: 'run Node 22.13 or later, or `npm install libsql`',
    judge: ({ missingLibrary }) =>
      missingLibrary === undefined ? ok('SQLite is there') : critical(missingLibrary),
  },
  {
    id: 'sqlite-folder',
    severities: ['critical', 'warning', 'note'],
    risk: 'the file, and the two beside it, cannot be made: every lease is refused',
    remedy: '`mkdir -p` the folder, and `chown` it to the user of tenure',
    judge({ folder }) {
      if (!folder.isThere) {
        const text = `there is no folder ${folder.path}`;
        if (!folder.isMadeWhenNeeded) return critical(text);
        const risk = 'the first who acquires makes it, for its own user alone';
        return note(`${text} yet`, { risk, remedy: 'nothing has to be done' });
      }
      if (!folder.isWritable) return critical(`this user may not write to ${folder.path}`);
      if (!folder.isOpenToAll) return ok(`${folder.path} can be written to`);
      return warning(`every user may write to ${folder.path}`, {
        risk: 'whoever replaces the file there takes every lease away',
        remedy: `\`chmod o-w ${folder.path}\`, or a folder of its own`,
      });
    },
  },
  {
    id: 'sqlite-file-system',
    severities: ['critical', 'warning'],
    risk: 'locks and shared memory do not hold there: two processes are granted one lease; tenure refuses it where it knows it',
    remedy: 'put the file on a local disk, or use a store with a server',
    judge({ folder: { fileSystem } }) {
      if (fileSystem === undefined) return undefined;
      const { kind, isShared, isReadOnly } = fileSystem;
      if (isShared) return critical(`the folder is on ${kind}`);
      if (isReadOnly)
        return critical(`the folder is on ${kind}, which is mounted to be read alone`, {
          risk: 'no lease is granted or renewed',
          remedy: 'mount it to be written to (`mount -o remount,rw`), or choose another path',
        });
      const end = passing[kind];
      if (end === undefined) return ok(`${kind}, on this machine alone`);
      return warning(`the folder is on ${kind}, and ends ${end}`, {
        risk: 'whoever starts afterwards, or beside it, has another file: histories and suspensions are gone, and two containers each have their own leases',
        remedy: 'put the file on a disk that stays, such as a volume that all containers mount',
      });
    },
  },
  {
    id: 'sqlite-space',
    severities: ['warning'],
    risk: 'when the disk is full, no lease is granted or renewed, and all of them end',
    remedy: 'make room, or put the file on another disk',
    judge({ folder: { fileSystem } }) {
      if (fileSystem === undefined) return undefined;
      const text = `${sayBytes(fileSystem.freeBytes)} are free`;
      return fileSystem.freeBytes < littleRoomBytes ? warning(text) : ok(text);
    },
  },
  {
    id: 'sqlite-file',
    severities: ['critical', 'note'],
    risk: 'every lease is refused',
    remedy: 'name another path, or `chown` the file to the user of tenure',
    judge({ file, path }) {
      if (file === undefined)
        return note(`there is no ${path} yet`, {
          risk: 'the first who acquires makes it, for its own user alone',
          remedy: 'nothing has to be done; check that the path is the one that was meant',
        });
      if (!file.isFile) return critical(`${path} is not a file`);
      if (!file.isWritable) return critical(`this user may not read and write ${path}`);
      if (file.sizeBytes === 0) return ok('an empty file, which tenure takes');
      if (file.head === undefined) return critical(`${path} is no database of SQLite`);
      const { applicationId } = file.head;
      if (applicationId === leaseSchema.applicationId) return ok("a database of tenure's");
      // Its head may still stand in the file beside it alone, until the last who has it open closes it.
      if (applicationId === 0 && file.logBytes > 0) return ok('a database that is in use');
      return critical(`${path} is a database of another program`);
    },
  },
  {
    id: 'sqlite-journal',
    severities: ['note'],
    risk: 'another program has changed it; tenure sets WAL again when it opens the file',
    remedy: "`sqlite3 FILE 'PRAGMA journal_mode = WAL'`, and let no other program set it",
    judge({ file }) {
      if (file?.head === undefined) return undefined;
      const text = 'and tenure writes with synchronous FULL';
      return file.head.isWal ? ok(`WAL, ${text}`) : note('the journal mode is not WAL');
    },
  },
  {
    id: 'sqlite-log',
    severities: ['warning'],
    risk: 'it fills the disk, and every reading takes longer',
    remedy: 'end the program that reads the file without an end: `fuser FILE` shows them',
    judge({ file }) {
      if (file === undefined) return undefined;
      const text = `the file beside it (-wal) has ${sayBytes(file.logBytes)}`;
      return file.logBytes > longLogBytes ? warning(text) : ok(text);
    },
  },
  {
    id: 'sqlite-owner',
    severities: ['warning'],
    risk: 'the files beside it belong to whoever opens it first, and the others may then not write',
    remedy: 'run all processes as one user, and `chown` the file to it',
    judge({ file, uid }) {
      if (file === undefined || uid === undefined) return undefined;
      if (file.uid === uid) return ok('it belongs to this user');
      return warning(`it belongs to user ${file.uid}, and we are ${uid}`);
    },
  },
  {
    id: 'sqlite-mode',
    severities: ['warning'],
    risk: 'every user of this machine may read the nonces of holders, and end or take their leases',
    remedy: '`chmod 600` the file',
    judge({ file }) {
      if (file === undefined) return undefined;
      const text = `its mode is ${(file.mode & 0o777).toString(8)}`;
      return (file.mode & 0o007) === 0 ? ok(text) : warning(text);
    },
  },
  {
    id: 'sqlite-lock',
    severities: ['critical', 'note'],
    risk: 'nobody can acquire, renew or release until that process goes on or ends: every lease runs out',
    remedy: 'let it go on (`kill -CONT PID`), or end it (`kill -KILL PID`)',
    judge({ lockHolder }) {
      if (lockHolder === undefined) return ok('nobody holds the lock');
      const { pid, isStopped } = lockHolder;
      if (isStopped) return critical(`process ${pid} is stopped while it holds the lock`);
      return note(`process ${pid} holds the lock at this moment`, {
        risk: 'if it does so for long, every lease runs out',
        remedy: 'look again; a transaction of tenure takes less than a tenth of a second',
      });
    },
  },
];
