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

/** One watchdog, as its wrapper sees it. */
export class WatchdogProcess {
  /** Resolves to words for people when it is gone, whyever; never rejects. */
  readonly ended: Promise<string>;
  readonly #runtime: Runtime;
  readonly #child: ChildProcess;
  #onGuarding: () => void = () => {};

  /** @throws if the system starts no more processes. */
  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#child = spawn(process.execPath, [entry], {
      cwd: '/',
      // A session of its own: what befalls the wrapper's, or the child's, does not befall it.
      detached: true,
      // It needs none of ours, least of all credentials.
      env: {},
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdin, stdout } = this.#child;
    // A dead one's pipe is broken; `ended` tells.
    stdin?.on('error', () => {});
    if (stdout !== null)
      eachLine(stdout, (line) => (line as WatchdogAnswer) === 'guarding' && this.#onGuarding());
    this.ended = new Promise((resolve) => {
      this.#child.once('error', ({ message }) => resolve(message));
      this.#child.once('exit', (code, signal) =>
        resolve(signal === null ? `exit status ${code}` : signal),
      );
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when it has confirmed; never, if it ends before, as it has to when it says nothing for too long. */
  guard(group: number, times: StopTimes): Promise<void> {
    const silence = this.#runtime.setTimer(confirmTimeoutMs, () => this.#child.kill('SIGKILL'));
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
    const patience = this.#runtime.setTimer(leaveTimeoutMs, () => this.#child.kill('SIGKILL'));
    this.#stdin?.end();
    await this.ended;
    patience.cancel();
  }

  get #stdin(): Writable | null {
    return this.#child.stdin;
  }

  #tell(order: WatchdogOrder): void {
    if (this.#stdin?.writable) this.#stdin.write(`${JSON.stringify(order)}\n`);
  }
}
