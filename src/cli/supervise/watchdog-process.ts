import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Runtime } from '../../time/index.js';
import type { StopTimes } from './deadlines.js';
import type { KernelTime } from './kernel-time.js';
import { eachLine, type WatchdogAnswer, type WatchdogOrder } from './watchdog-messages.js';

const entry = fileURLToPath(new URL('./watchdog-entry.js', import.meta.url));
/** A healthy one answers in milliseconds; a new one has to start before. */
const confirmTimeoutMs = 10_000;
/** One that has not ended by then, although it was told to, is killed. */
const leaveTimeoutMs = 2_000;

/** One watchdog, as its wrapper sees it. One that the system did not start is one that has ended. */
export class WatchdogProcess {
  /** Resolves to words for people when it is gone, whyever; never rejects. */
  readonly ended: Promise<string>;
  readonly #runtime: Runtime;
  readonly #command: string;
  /** `undefined` if the system refused it at once. */
  #child: ChildProcess | undefined;
  #onGuarding: () => void = () => {};

  /** @param command on whose behalf it speaks: `run`. */
  constructor(runtime: Runtime, command: string) {
    this.#runtime = runtime;
    this.#command = command;
    this.ended = this.#start().catch((error: Error) => error.message);
  }

  /** Rejects if it cannot be started, and resolves when it has ended. */
  async #start(): Promise<string> {
    const child = spawn(process.execPath, [entry, this.#command], {
      cwd: '/',
      // A session of its own: what befalls the wrapper's, or the child's, does not befall it.
      detached: true,
      // It needs none of ours, least of all credentials.
      env: {},
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    const ended = new Promise<string>((resolve, reject) => {
      child.on('error', reject);
      child.once('exit', (code, signal) =>
        resolve(signal === null ? `exit status ${code}` : signal),
      );
    });
    // Without more files to open there are not even pipes, whatever the types say.
    const { stdin, stdout } = child as Partial<typeof child>;
    // A dead one's pipe is broken; `ended` tells.
    stdin?.on('error', () => {});
    if (stdout)
      eachLine(stdout, (line) => (line as WatchdogAnswer) === 'guarding' && this.#onGuarding());
    return ended;
  }

  /** Resolves when it has confirmed; never, if it ends before, as it has to when it says nothing for too long. */
  guard(group: number, times: StopTimes): Promise<void> {
    const silence = this.#runtime.setTimer(confirmTimeoutMs, () => this.#child?.kill('SIGKILL'));
    void this.ended.then(() => silence.cancel());
    const confirmed = new Promise<void>((resolve) => {
      this.#onGuarding = () => {
        silence.cancel();
        resolve();
      };
    });
    this.#tell({ type: 'guard', group, ...times });
    return confirmed;
  }

  renewed(times: StopTimes): void {
    this.#tell({ type: 'renewed', ...times });
  }

  stopping(killAt: KernelTime): void {
    this.#tell({ type: 'stopping', killAt });
  }

  gone(): void {
    this.#tell({ type: 'gone' });
  }

  /** Ends it, and waits until it is gone. */
  async dismiss(): Promise<void> {
    const patience = this.#runtime.setTimer(leaveTimeoutMs, () => this.#child?.kill('SIGKILL'));
    this.#stdin?.end();
    await this.ended;
    patience.cancel();
  }

  get #stdin(): Writable | null | undefined {
    return this.#child?.stdin;
  }

  #tell(order: WatchdogOrder): void {
    if (this.#stdin?.writable) this.#stdin.write(`${JSON.stringify(order)}\n`);
  }
}
