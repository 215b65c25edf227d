import { readdirSync, readFileSync } from 'node:fs';

/** One process as `/proc` tells of it. */
export interface ProcessEntry {
  readonly pid: number;
  /** Ended with all its threads, and only waiting to be noticed by its parent. */
  readonly isDead: boolean;
  readonly group: number;
  readonly session: number;
}

/** Where the number of threads stands, counted from the state on. */
const threadCountAt = 17;

/** The content of `/proc/<pid>/stat`; `undefined` if it is not what that looks like. */
export function parseStat(text: string): ProcessEntry | undefined {
  // The program's name is in parentheses, and may hold spaces and parentheses itself.
  const nameEnd = text.lastIndexOf(')');
  const pid = Number.parseInt(text, 10);
  const fields = text.slice(nameEnd + 2).split(' ');
  const [state, , group, session] = fields;
  if (nameEnd < 0 || !(pid > 0) || state === undefined || session === undefined) return undefined;
  return {
    pid,
    // A program goes on after its first thread has ended, for which alone the state stands.
    isDead: (state === 'Z' || state === 'X') && !(Number(fields[threadCountAt]) > 1),
    group: Number(group),
    session: Number(session),
  };
}

/**
 * All processes that can be seen here; `undefined` on a system without `/proc`.
 *
 * @throws if it cannot be read now: this process may open no more files.
 */
export function listProcesses(): ProcessEntry[] | undefined {
  let names: string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const entries = names.flatMap((name) => readEntry(name) ?? []);
  return entries.length === 0 ? undefined : entries;
}

function readEntry(name: string): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'));
  } catch (error) {
    // It has ended since the folder was read, or is not for us to see.
    if (isMissing(error) || codeOf(error) === 'EACCES') return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ESRCH'].includes(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
