import { leaseSchema } from '../../coordinators/sqlite/schema.js';
import { type Check, critical, factOf, ifSeen, note, ok, type Verdict, warning } from '../check.js';
import { sayBytes } from '../say.js';
import type { FileFacts, SqliteFacts } from './facts.js';

/** A checkpoint keeps it at about 4 MiB; what lets it grow is a reader that does not end. */
const longLogBytes = 256 * 1024 * 1024;
/** What one grant may write: a few pages, and the index of them. */
const noRoomBytes = 64 * 1024;
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
      if (folder.refusal !== undefined)
        return critical(refusalText(folder.path, folder.refusal), {
          remedy: refusalRemedy(folder.refusal),
        });
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
    severities: ['critical', 'warning'],
    risk: 'when the disk is full, no lease is granted or renewed, and all of them end',
    remedy: 'make room, or put the file on another disk',
    judge({ folder: { fileSystem } }) {
      if (fileSystem === undefined) return undefined;
      const text = `${sayBytes(fileSystem.freeBytes)} are free`;
      if (fileSystem.freeBytes < noRoomBytes) return critical(text);
      return fileSystem.freeBytes < littleRoomBytes ? warning(text) : ok(text);
    },
  },
  {
    id: 'sqlite-file',
    severities: ['critical', 'note'],
    risk: 'every lease is refused',
    remedy: "name another path, or, if the file is tenure's, `chown` it to the user of tenure",
    judge: judgeFile,
  },
  {
    id: 'sqlite-content',
    severities: ['critical'],
    risk: 'leases are refused, and histories and suspensions that are read may be wrong',
    remedy:
      'end every process that uses the file, and put it away with the -wal and -shm beside it: the next who acquires makes a new one, without the leases, histories and suspensions of the old one',
    judge(facts) {
      const { content, path } = facts;
      if (content === undefined || !isOwn(facts)) return undefined;
      return ifSeen(content, ({ damage, refusal }) => {
        if (damage !== undefined) return critical(`${path} is damaged: ${damage}`);
        if (refusal !== undefined) return critical(`a copy of it grants no lease: ${refusal}`);
        return ok('its pages are whole, and a copy of it grants a lease');
      });
    },
  },
  {
    id: 'sqlite-journal',
    severities: ['note'],
    risk: 'another program has changed it; tenure sets WAL again when it opens the file',
    remedy: "`sqlite3 FILE 'PRAGMA journal_mode = WAL'`, and let no other program set it",
    judge(facts) {
      const { file } = facts;
      if (file?.head === undefined || !isOwn(facts)) return undefined;
      const text = 'and tenure writes with synchronous FULL';
      return file.head.isWal ? ok(`WAL, ${text}`) : note('the journal mode is not WAL');
    },
  },
  {
    id: 'sqlite-log',
    severities: ['warning'],
    risk: 'it fills the disk, and every reading takes longer',
    remedy: 'end the program that reads the file without an end: `fuser FILE` shows them',
    judge(facts) {
      const { file } = facts;
      if (file === undefined || !isOwn(facts)) return undefined;
      const text = `the file beside it (-wal) has ${sayBytes(file.logBytes)}`;
      return file.logBytes > longLogBytes ? warning(text) : ok(text);
    },
  },
  {
    id: 'sqlite-owner',
    severities: ['warning'],
    risk: 'the files beside it belong to whoever opens it first, and the others may then not write',
    remedy: 'run all processes as one user, and `chown` the file to it',
    judge(facts) {
      const { file, uid } = facts;
      if (file === undefined || !isOwn(facts) || uid === undefined) return undefined;
      if (file.uid === uid) return ok('it belongs to this user');
      return warning(`it belongs to user ${file.uid}, and we are ${uid}`);
    },
  },
  {
    id: 'sqlite-mode',
    severities: ['warning'],
    risk: 'every user of this machine may read the nonces of holders, and end or take their leases',
    remedy: '`chmod 600` the file',
    judge(facts) {
      const { file } = facts;
      if (file === undefined || !isOwn(facts)) return undefined;
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

/** What is somebody else's is only told of: no command changes it. */
const othersRemedy = { remedy: 'name another path; what is there was left as it is' };

function judgeFile(facts: SqliteFacts): Verdict {
  const { file, path, uid, fileRefusal, deadLink } = facts;
  if (fileRefusal !== undefined)
    return critical(refusalText(path, fileRefusal), { remedy: refusalRemedy(fileRefusal) });
  if (deadLink !== undefined)
    return critical(`${path} is a link to ${deadLink}, where nothing is`, {
      remedy: 'mend the link, or name the path of the file itself, which is then made',
    });
  if (file === undefined)
    return note(`there is no ${path} yet`, {
      risk: 'the first who acquires makes it, for its own user alone',
      remedy: 'nothing has to be done; check that the path is the one that was meant',
    });
  if (!file.isFile) return critical(`${path} is not a file`, othersRemedy);
  if (file.sizeBytes > 0 && file.isReadable && file.head === undefined)
    return critical(`${path} is no database of SQLite, or its first page is damaged`, othersRemedy);
  if (file.isReadable && !isOwn(facts))
    return critical(`${path} is a database of another program`, othersRemedy);
  if (!file.isWritable) {
    const user = uid === undefined ? 'this user' : `user ${uid}`;
    return critical(`${user} may not read and write ${path}, which belongs to user ${file.uid}`);
  }
  if (file.closedBeside !== undefined)
    return critical(`this user may not read and write ${file.closedBeside}`, {
      remedy: `run all processes as one user, and \`chown\` ${file.closedBeside} to it`,
    });
  return ok(file.sizeBytes === 0 ? 'an empty file, which tenure takes' : "a database of tenure's");
}

/** Tenure has made it, or takes it for its own. */
function isOwn({ file, content }: SqliteFacts): boolean {
  if (!file?.isFile || !file.isReadable) return false;
  if (file.sizeBytes === 0) return true;
  if (file.head === undefined) return false;
  if (file.head.applicationId === leaseSchema.applicationId) return true;
  // Its head may still stand in the file beside it alone, until the last who has it open closes it.
  const kind = content && factOf(content)?.kind;
  if (kind === 'own' || kind === 'empty') return true;
  return kind !== 'foreign' && mayBeOwn(file);
}

function mayBeOwn({ head, logBytes }: FileFacts): boolean {
  return head?.applicationId === 0 && logBytes > 0;
}

function refusalText(path: string, code: string): string {
  return `${path} cannot be looked at (${code}): ${refusals[code]?.why ?? 'the system refuses it'}`;
}

function refusalRemedy(code: string): string {
  return refusals[code]?.remedy ?? 'name another path';
}

const refusals: Readonly<Record<string, { readonly why: string; readonly remedy: string }>> = {
  EACCES: {
    why: 'this user may not enter a folder above it',
    remedy:
      'run tenure as the user whose folder it is, give this user the right to enter it (`setfacl -m u:USER:x FOLDER`), or name another path',
  },
  ENOTDIR: {
    why: 'something above it, or in its place, is not a folder',
    remedy: 'name another path',
  },
  ELOOP: { why: 'its links lead in a circle', remedy: 'mend the links, or name another path' },
  ENAMETOOLONG: { why: 'the path is too long', remedy: 'name a shorter one' },
};
