import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Guard, serverEnvironment } from '../support/servers/process.js';

export interface LeaderSettings {
  readonly url: string;
  readonly namespace: string;
  readonly id: string;
  readonly name: string;
  readonly ttlMs: number;
  readonly connectTimeoutMs?: number;
}

interface Told {
  readonly event: string;
  readonly term?: number;
  readonly reason?: string;
}

/** A process that leads whenever it can. It never outlives this process. */
export class LeaderProcess {
  readonly told: Told[] = [];
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #isRunning = true;
  #output = '';

  /** @param wrapper is put in front of the command: `['nice', '-n', '19']`. */
  constructor(
    settings: LeaderSettings,
    environment: Readonly<Record<string, string>> = {},
    wrapper: readonly string[] = [],
  ) {
    const command = [...wrapper, process.execPath, join(import.meta.dirname, 'leader.mjs')];
    const guard = new Guard(['KILL'], undefined);
    this.#child = spawn(command[0] as string, command.slice(1), {
      env: { ...serverEnvironment(), ...environment, LEADER: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    guard.watch(this.#child.pid);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    this.#child.on('message', (told: Told) => {
      this.told.push(told);
      for (const listener of this.#listeners) listener();
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', () => {
        this.#isRunning = false;
        guard.watch(undefined);
        guard.dismiss();
        for (const listener of this.#listeners) listener();
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#child.kill(signal);
  }

  order(order: string, more: object = {}): void {
    this.#child.send({ order, ...more });
  }

  /** How often it has told of an event. */
  countOf(event: string): number {
    return this.told.filter((told) => told.event === event).length;
  }

  /** Resolves with what it tells of an event for the `number`th time. */
  async tells(event: string, number = 1, limitMs = 30_000): Promise<Told> {
    const found = () => this.told.filter((told) => told.event === event)[number - 1];
    const signal = AbortSignal.timeout(limitMs);
    for (let told = found(); ; told = found()) {
      if (told !== undefined) return told;
      if (!this.#isRunning || signal.aborted)
        throw new Error(`waited in vain for ${event} (${number}) among ${this}`);
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#listeners.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.#listeners.add(done);
        signal.addEventListener('abort', done, { once: true });
      });
    }
  }

  /** In good order. */
  async leave(): Promise<void> {
    if (this.#isRunning) this.order('leave');
    await this.ended;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  toString(): string {
    const events = this.told.map((told) => JSON.stringify(told)).join('\n');
    return `${events}\n${this.#output}`;
  }
}
