import { closeSync, openSync, readSync } from 'node:fs';
import { OptionError } from '../errors/index.js';

/** More than anybody writes by hand; a wrong file is told by its size, and one without an end ends here. */
const longestBytes = 1024 * 1024;

/**
 * The text of a file that a user named: UTF-8, of 1 MiB at most.
 *
 * @param option what named the file, for the error.
 * @param remedy what to name instead.
 * @param shown the file as the user wrote it. Default `file`.
 * @throws {OptionError} if it cannot be read, or is longer. Of a device that never ends no more is read than that.
 */
export function readTextFile(option: string, file: string, remedy: string, shown = file): string {
  let bytes: Buffer;
  try {
    bytes = readUpTo(file, longestBytes + 1);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new OptionError(option, shown, `cannot be read: ${code}`, remedy);
  }
  if (bytes.length > longestBytes)
    throw new OptionError(option, shown, `has more than ${longestBytes} bytes`, remedy);
  return bytes.toString('utf8');
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
