import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { ProcessGroup } from './process-group.js';

/**
 * Waits for leave, and becomes the command, of which nothing is interpreted. If its wrapper dies before, the end of the
 * pipe comes instead of leave, and nothing has run. Without this gate, a wrapper that is killed between starting the child
 * and naming it to the watchdog would leave it to nobody.
 */
const gate = 'read -r leave <&3 && exec "$@" 3<&-';

/** How a child ended: by itself, or by a signal. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** As a shell tells it: the command's own status, or 128 and the number of the signal that ended it. */
export function statusOf({ code, signal }: ChildEnd): number {
  return signal === null ? (code ?? 0) : 128 + constants.signals[signal];
}

/** A command in a process group (and session) of its own, which does nothing until it is let. */
export class GatedChild {
  readonly group: ProcessGroup;
  /** When the command itself has ended; others of its group may go on. */
  readonly ended: Promise<ChildEnd>;
  readonly #gate: Writable;

  private constructor(child: ChildProcess, id: number) {
    this.group = new ProcessGroup(id);
    this.#gate = child.stdio[3] as Writable;
    // Whoever stood behind the gate was killed.
    this.#gate.on('error', () => {});
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
  }

  /**
   * @param command an absolute path, or one from the working folder, and its arguments.
   * @param input its standard input: ours, or none.
   * @throws if the system starts no more processes.
   */
  static async start(
    command: readonly string[],
    environment: Readonly<Record<string, string | undefined>>,
    input: 'inherit' | 'ignore' = 'inherit',
  ): Promise<GatedChild> {
    const child = spawn('/bin/sh', ['-c', gate, 'tenure-run', ...command], {
      detached: true,
      env: environment,
      stdio: [input, 'inherit', 'inherit', 'pipe'],
    });
    if (child.pid !== undefined) return new GatedChild(child, child.pid);
    throw await new Promise<Error>((resolve) => child.once('error', resolve));
  }

  /** Lets the command run. */
  open(): void {
    this.#gate.end('go\n');
  }
}
