import { type ChildProcess, spawn } from 'node:child_process';
import { Guard, serverEnvironment } from './servers/process.js';

/**
 * A Node program as a process of its own, known by its process id. It never outlives this process, and a test that
 * starts one ends it: `await program.kill()`.
 */
export class NodeProgram {
  readonly lines: string[] = [];
  /** Resolves to the exit code, or to the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  readonly #guard: Guard;
  readonly #heard: (line: string) => void;
  #isRunning = true;

  /**
   * @param environment is all it sees besides the path.
   * @param signals end it if this process dies.
   * @param heard gets each line that it prints, as it comes.
   */
  constructor(
    command: readonly [file: string, ...parameters: string[]],
    environment: Readonly<Record<string, string>> = {},
    signals: readonly NodeJS.Signals[] = ['SIGKILL'],
    heard: (line: string) => void = () => {},
  ) {
    this.#heard = heard;
    this.#guard = new Guard(
      signals.map((signal) => signal.slice('SIG'.length)),
      undefined,
    );
    this.#child = spawn(process.execPath, command, {
      env: { ...serverEnvironment(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#guard.watch(this.#child.pid);
    this.#collect(this.#child.stdout);
    this.#collect(this.#child.stderr);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        this.#isRunning = false;
        this.#guard.watch(undefined);
        this.#guard.dismiss();
        resolve(signal ?? code ?? -1);
      });
    });
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Everything it has printed, to show when something went wrong. */
  get output(): string {
    return this.lines.join('\n');
  }

  /** Does nothing once it has ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#child.kill(signal);
  }

  /** Waits for a line and returns its match. Throws with all it has printed if it ends, or takes too long. */
  async says(pattern: RegExp, limitMs = 30_000): Promise<RegExpExecArray> {
    const startedMs = performance.now();
    for (;;) {
      const wasRunning = this.#isRunning;
      for (const line of this.lines) {
        const match = pattern.exec(line);
        if (match !== null) return match;
      }
      if (!wasRunning || performance.now() - startedMs > limitMs) {
        throw new Error(`waited in vain for ${pattern} among:\n${this.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** SIGTERM, and SIGKILL if that takes too long; wakes it first. Resolves when it is gone. */
  async stop(patienceMs = 15_000): Promise<number | NodeJS.Signals> {
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), patienceMs);
    const end = await this.ended;
    clearTimeout(timer);
    return end;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  #collect(stream: NodeJS.ReadableStream | null): void {
    let rest = '';
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#add(line);
    });
    stream?.on('end', () => {
      if (rest !== '') this.#add(rest);
    });
  }

  #add(line: string): void {
    this.lines.push(line);
    this.#heard(line);
  }
}
