import { readFileSync, statSync } from 'node:fs';

/** Who holds the write lock of a file in WAL mode, as far as the kernel tells. */
export interface LockHolder {
  readonly pid: number;
  /** It is stopped by a signal or a debugger: it will not let go by itself. */
  readonly isStopped: boolean;
}

/** The byte of the `-shm` file that stands for the write lock: see https://sqlite.org/walformat.html, "WAL locks". */
const writeLockByte = 120;

/**
 * Looks through the kernel's list of locks. `undefined` if it cannot be told: on other systems than Linux, in a container
 * that does not see the process, or because the lock is free by now.
 */
export function findLockHolder(path: string): LockHolder | undefined {
  try {
    const { ino } = statSync(`${path}-shm`);
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    const pid = locks.map((line) => writerOn(line, ino)).find((one) => one !== undefined);
    return pid === undefined ? undefined : { pid, isStopped: isStopped(pid) };
  } catch {
    return undefined;
  }
}

/** `7: POSIX  ADVISORY  WRITE 4711 fe:00:131073 120 120`; a waiter's line has an arrow and is none. */
function writerOn(line: string, inode: number): number | undefined {
  const fields = /^\d+: (?:POSIX|OFDLCK)\s+ADVISORY\s+WRITE (-?\d+) \S+:(\d+) (\d+) (\d+|EOF)/.exec(
    line,
  );
  if (fields === null || Number(fields[2]) !== inode) return undefined;
  const isWriteLock =
    Number(fields[3]) <= writeLockByte &&
    (fields[4] === 'EOF' || Number(fields[4]) >= writeLockByte);
  const pid = Number(fields[1]);
  return isWriteLock && pid > 0 ? pid : undefined;
}

/** The state stands behind the name, which may itself hold parentheses. */
function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return /^\) [tT] /.test(stat.slice(stat.lastIndexOf(')')));
}
