import { readdirSync, readFileSync } from 'node:fs';

/** One process as `/proc` tells of it. */
export interface ProcessEntry {
  readonly pid: number;
  /** Ended, and only waiting to be noticed by its parent. */
  readonly isDead: boolean;
  readonly group: number;
  readonly session: number;
}

/** The content of `/proc/<pid>/stat`; `undefined` if it is not what that looks like. */
export function parseStat(text: string): ProcessEntry | undefined {
  // The program's name is in parentheses, and may hold spaces and parentheses itself.
  const nameEnd = text.lastIndexOf(')');
  const pid = Number.parseInt(text, 10);
  const [state, , group, session] = text.slice(nameEnd + 2).split(' ');
  if (nameEnd < 0 || !(pid > 0) || state === undefined || session === undefined) return undefined;
  return {
    pid,
    isDead: state === 'Z' || state === 'X',
    group: Number(group),
    session: Number(session),
  };
}

/** All processes that can be seen here; `undefined` on a system without `/proc`. */
export function listProcesses(): ProcessEntry[] | undefined {
  let names: string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return undefined;
  }
  const entries = names.flatMap((name) => readEntry(name) ?? []);
  return entries.length === 0 ? undefined : entries;
}

function readEntry(name: string): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'));
  } catch {
    // It has ended since the folder was read.
    return undefined;
  }
}
