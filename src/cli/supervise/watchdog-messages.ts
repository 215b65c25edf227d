import type { StopTimes } from './deadlines.js';
import type { KernelTime } from './kernel-time.js';

/** From the wrapper to its watchdog, each a line of JSON on the watchdog's standard input. */
export type WatchdogOrder =
  /** From now on this group is to be stopped by these times, unless later ones are told. */
  | ({ readonly type: 'guard'; readonly group: number } & StopTimes)
  | ({ readonly type: 'renewed' } & StopTimes)
  /** The wrapper has sent SIGTERM itself. */
  | { readonly type: 'stopping'; readonly killAt: KernelTime }
  /** Nothing is left of the group. */
  | { readonly type: 'gone' };

/** From the watchdog, a line on its standard output. */
export type WatchdogAnswer = 'guarding';

/** Calls `onLine` with each whole line. What follows the last line break was cut off, and is not one. */
export function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}
