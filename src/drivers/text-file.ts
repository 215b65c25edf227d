import { isUtf8 } from 'node:buffer';
import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { OptionError } from '../errors/index.js';
import { realRuntime, sleep } from '../time/index.js';

/** More than anybody writes by hand; a wrong file is told by its size, and one without an end ends here. */
const longestBytes = 1024 * 1024;

/**
 * The text of a file that a user named: UTF-8, of 1 MiB at most.
 *
 * @param option what named the file, for the error.
 * @param remedy what to name instead.
 * @param shown the file as the user wrote it. Default `file`.
 * @throws {OptionError} if it cannot be read, is longer, or no UTF-8. Of a device that never ends no more is read than that.
 */
export function readTextFile(option: string, file: string, remedy: string, shown = file): string {
  const complain = (problem: string) => new OptionError(option, shown, problem, remedy);
  try {
    return textOf(readUpTo(file, longestBytes + 1), complain);
  } catch (error) {
    throw refusal(error, complain);
  }
}

/**
 * The same for a file that may be a pipe, to which somebody writes in time, or never: whoever waits can be stopped.
 *
 * @throws {OptionError} as above; the reason of `signal`.
 */
export async function awaitTextFile(
  option: string,
  file: string,
  remedy: string,
  signal: AbortSignal,
): Promise<string> {
  if (!isPipe(file)) return readTextFile(option, file, remedy);
  const complain = (problem: string) => new OptionError(option, file, problem, remedy);
  try {
    return textOf(await awaitUpTo(file, longestBytes + 1, signal), complain);
  } catch (error) {
    throw refusal(error, complain);
  }
}

type Complain = (problem: string) => OptionError;

function textOf(bytes: Buffer, complain: Complain): string {
  if (bytes.length > longestBytes) throw complain(`has more than ${longestBytes} bytes`);
  return decoded(bytes, (line) => {
    throw complain(`is no UTF-8 text: line ${line} is none`);
  });
}

/** What the system says, in words for the user; anything else as it is. */
function refusal(error: unknown, complain: Complain): unknown {
  const isOfSystem = error instanceof Error && 'syscall' in error && 'code' in error;
  return isOfSystem ? complain(`cannot be read: ${said(String(error.code))}`) : error;
}

function said(code: string): string {
  const words = systemWords[code];
  return words === undefined ? code : `${code}, ${words}`;
}

const systemWords: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
};

function isPipe(file: string): boolean {
  try {
    return statSync(file).isFIFO();
  } catch {
    // Whoever opens it says why.
    return false;
  }
}

/** A mark of the encoding at the beginning is left out. */
function decoded(bytes: Buffer, complain: (line: number) => never): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return complain(firstWrongLine(bytes));
  }
}

/** No byte of a longer character is that of a line's end. */
function firstWrongLine(bytes: Buffer): number {
  for (let line = 1, from = 0; ; line++) {
    const end = bytes.indexOf(0x0a, from);
    if (!isUtf8(end === -1 ? bytes.subarray(from) : bytes.subarray(from, end)) || end === -1)
      return line;
    from = end + 1;
  }
}

/** A pipe has no size, and gives its bytes in pieces. */
function readUpTo(file: string, mostBytes: number): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(mostBytes);
    let count = 0;
    for (;;) {
      const more = readSync(descriptor, bytes, count, mostBytes - count, null);
      count += more;
      if (more === 0 || count === mostBytes) return bytes.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Opened without waiting for a writer, such a pipe has no bytes until there is one, and none after the last. */
async function awaitUpTo(file: string, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(mostBytes);
    let count = 0;
    let hadWriter = false;
    for (;;) {
      signal.throwIfAborted();
      const more = readIfAny(descriptor, bytes, count);
      hadWriter ||= more !== 0;
      count += more ?? 0;
      if (count === mostBytes || (more === 0 && hadWriter)) return bytes.subarray(0, count);
      if (more === 0 || more === undefined) await sleep(realRuntime, 20, signal);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** `undefined`: somebody has it open to write, and there is nothing yet. */
function readIfAny(descriptor: number, bytes: Buffer, from: number): number | undefined {
  try {
    return readSync(descriptor, bytes, from, bytes.length - from, null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
