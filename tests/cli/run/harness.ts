import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFailed, onTestFinished } from 'vitest';
import { until } from '../../support/until.js';
import { main, type Outcome, tenure } from '../command-line.js';

export const pulse = join(import.meta.dirname, 'pulse.mjs');
/** Short, so that a test is; long enough for a busy machine. */
export const ttlMs = 2_000;

export const storeNames = ['Redis', 'SQLite'] as const;
export type StoreName = (typeof storeNames)[number];

/** One store, one name, and everybody who runs a command for it. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenure-run-'));
  readonly marksFile = join(this.folder, 'marks');
  readonly namespace = `run-${randomBytes(6).toString('hex')}`;
  url: string;
  readonly #wrappers: Wrapper[] = [];

  constructor(store: StoreName = 'Redis') {
    this.url = store === 'Redis' ? inject('redisUrl') : `sqlite:${join(this.folder, 'tenure.db')}`;
    onTestFinished(() => this.end());
    onTestFailed(() => {
      for (const { id, stderr } of this.#wrappers) console.error(`--- ${id}\n${stderr}`);
    });
  }

  /** `tenure run` with a pulse for its command. */
  pulse(
    id: string,
    options: readonly string[] = [],
    words: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Wrapper {
    return this.run(id, options, [process.execPath, pulse, this.marksFile, id, ...words], env);
  }

  run(id: string, options: readonly string[], command: readonly string[], env = {}): Wrapper {
    const wrapper = new Wrapper(
      id,
      [
        'run',
        ...['--election', 'work', '--id', id, '--ttl', `${ttlMs}ms`],
        ...['--url', this.url, '--namespace', this.namespace],
        ...options,
        '--',
        ...command,
      ],
      env,
    );
    this.#wrappers.push(wrapper);
    return wrapper;
  }

  /** Another command of `tenure` about the same store. */
  async tenure(...args: readonly string[]): Promise<Outcome> {
    return await tenure([...args, '--url', this.url, '--namespace', this.namespace]);
  }

  /** Waits until this one stands in the queue. */
  async waits(id: string): Promise<void> {
    for (;;) {
      const { stdout } = await this.tenure('candidates', 'work', '-o', 'json');
      const { candidates } = JSON.parse(stdout) as {
        candidates: { id: string; standing: string }[];
      };
      if (candidates.some((one) => one.id === id && one.standing === 'waiting')) return;
    }
  }

  fileText(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  get marks(): Mark[] {
    return readMarks(this.marksFile);
  }

  /** Waits until a mark like this is there. */
  async marked(matches: (mark: Mark) => boolean): Promise<Mark> {
    return until('a mark', () => this.marks.find(matches));
  }

  async end(): Promise<void> {
    for (const wrapper of this.#wrappers) await wrapper.end();
    for (const { pid } of this.marks) killQuietly(pid);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** One `tenure run` as a process. */
export class Wrapper {
  readonly id: string;
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly status: number | null; readonly signal: string | null }>;
  stdout = '';
  stderr = '';
  #isRunning = true;

  constructor(id: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    this.id = id;
    this.process = spawn(process.execPath, [main, ...args], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.process.once('exit', (status, signal) => {
        this.#isRunning = false;
        resolve({ status, signal });
      });
    });
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  async says(pattern: RegExp): Promise<RegExpExecArray> {
    return until(`${pattern} among: ${this.stderr}`, () => pattern.exec(this.stderr) ?? undefined);
  }

  /** The process that watches over the child; it has to be there. */
  async watchdog(): Promise<number> {
    return until('a watchdog', () =>
      childrenOf(this.pid).find((pid) => commandOf(pid).includes('watchdog-entry')),
    );
  }

  async end(): Promise<void> {
    if (this.#isRunning) {
      this.signal('SIGKILL');
      this.signal('SIGCONT');
    }
    await this.ended;
  }
}

export interface Mark {
  readonly wrapper: string;
  readonly role: string;
  readonly pid: number;
  readonly term: number;
  readonly atMs: number;
  readonly what: string;
}

export function readMarks(file: string): Mark[] {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Nobody has begun yet.
  }
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => {
    const [wrapper = '', role = '', pid, term, atMs, what = ''] = line.split(' ');
    return { wrapper, role, pid: Number(pid), term: Number(term), atMs: Number(atMs), what };
  });
}

/** From the first to the last sign of life of each process. */
export interface Life {
  readonly wrapper: string;
  readonly term: number;
  readonly pid: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export function livesOf(marks: readonly Mark[]): Life[] {
  const lives = new Map<number, Life>();
  for (const { wrapper, term, pid, atMs } of marks) {
    const life = lives.get(pid) ?? { wrapper, term, pid, fromMs: atMs, toMs: atMs };
    lives.set(pid, { ...life, toMs: Math.max(life.toMs, atMs) });
  }
  return [...lives.values()];
}

/** Pairs of processes of different terms that were alive at the same time. */
export function overlapsOf(lives: readonly Life[]): [Life, Life][] {
  return lives.flatMap((one, index) =>
    lives
      .slice(index + 1)
      .filter(
        (other) => other.term !== one.term && one.fromMs < other.toMs && other.fromMs < one.toMs,
      )
      .map((other): [Life, Life] => [one, other]),
  );
}

/** Kernel time as the marks have it. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function isAlive(pid: number): boolean {
  return statOf(pid) !== undefined;
}

export async function gone(pid: number): Promise<void> {
  await until(`the end of process ${pid}`, () => !isAlive(pid));
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent);
}

/** `undefined` for what has ended, buried or not. */
function statOf(pid: number): { parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : { parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

export function killQuietly(pid: number): void {
  try {
    if (commandOf(pid).includes(pulse)) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
}
