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
    const pid = writerIn(readFileSync('/proc/locks', 'utf8'), `${path}-shm`);
    return pid === undefined ? undefined : { pid, isStopped: isStopped(pid) };
  } catch {
    return undefined;
  }
}

/**
 * The process whose lock the kernel's list shows at the write lock's byte of this file, such as
 * `7: POSIX  ADVISORY  WRITE 4711 fe:00:131073 120 120`. A waiter's line has an arrow and is none.
 */
export function writerIn(locks: string, shmPath: string): number | undefined {
  const { dev, ino } = statSync(shmPath, { bigint: true });
  const file = `${deviceText(dev)}:${ino}`;
  return locks
    .split('\n')
    .map((line) => writerOn(line, file))
    .find((pid) => pid !== undefined);
}

function writerOn(line: string, file: string): number | undefined {
  const fields =
    /^\d+: (?:POSIX|OFDLCK)\s+ADVISORY\s+WRITE (-?\d+) ([0-9a-f]+:[0-9a-f]+:\d+) (\d+) (\d+|EOF)/.exec(
      line,
    );
  // Inodes are numbered by each file system: the same number on another one is another file.
  if (fields === null || fields[2] !== file) return undefined;
  const isWriteLock =
    Number(fields[3]) <= writeLockByte &&
    (fields[4] === 'EOF' || Number(fields[4]) >= writeLockByte);
  const pid = Number(fields[1]);
  return isWriteLock && pid > 0 ? pid : undefined;
}

/** As the kernel writes it: the major and the minor number, with two hexadecimal digits at least. */
function deviceText(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n);
  const minor = (device & 0xffn) | ((device >> 12n) & 0xffffff00n);
  return [major, minor].map((number) => number.toString(16).padStart(2, '0')).join(':');
}

/** The state stands behind the name, which may itself hold parentheses. */
function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return /^\) [tT] /.test(stat.slice(stat.lastIndexOf(')')));
}
