import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Guard, serverEnvironment } from '../../support/servers/process.js';
import type { WorkerCounts, WorkerNews, WorkerTask } from './messages.js';
import type { ProofPlace } from './stores.js';

/** One task of a worker. */
interface Running {
  /** By key. */
  readonly receipts: Map<string, string>;
  readonly staying: () => void;
  readonly ended: (counts: WorkerCounts) => void;
}

/** A process of worker.mjs. It never outlives this one. */
export class WorkerProcess {
  /** It has loaded what it needs, and reached the store. */
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #guard = new Guard(['KILL'], undefined);
  readonly #exited: Promise<void>;
  /** Rejects if it dies, unless it was killed from here. */
  readonly #died: Promise<never>;
  #running: Running | undefined;
  #isKilled = false;

  constructor(place: ProofPlace) {
    const program = fileURLToPath(new URL('worker.mjs', import.meta.url));
    this.#child = fork(program, [JSON.stringify(place)], { env: serverEnvironment() });
    this.#guard.watch(this.#child.pid);
    this.#exited = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    this.#died = this.#exited.then(() => {
      if (this.#isKilled) return new Promise<never>(() => {});
      throw new Error(`a worker has died: ${this.#child.exitCode ?? this.#child.signalCode}`);
    });
    const ready = new Promise<void>((resolve) => {
      this.#child.on('message', (news: WorkerNews) => {
        if (news.kind === 'ready') resolve();
        else if (news.kind === 'staying') this.#running?.staying();
        else if (news.kind === 'end') this.#running?.ended(news.counts);
        else this.#running?.receipts.set(news.key, news.receipt);
      });
    });
    this.ready = Promise.race([ready, this.#died]);
    for (const promise of [this.ready, this.#died]) promise.catch(() => {});
  }

  /** What it was given in its last task. */
  get receipts(): ReadonlyMap<string, string> {
    return this.#running?.receipts ?? new Map();
  }

  /** Gives a task: `ended` resolves when it has a receipt for every key, `staying` when it is where it stays. */
  do(task: WorkerTask): { readonly ended: Promise<WorkerCounts>; readonly staying: Promise<void> } {
    let stays = () => {};
    const staying = new Promise<void>((resolve) => {
      stays = resolve;
    });
    const ended = new Promise<WorkerCounts>((resolve) => {
      this.#running = { receipts: new Map(), staying: stays, ended: resolve };
    });
    this.#child.send(task);
    return {
      ended: Promise.race([ended, this.#died]),
      staying: Promise.race([staying, this.#died]),
    };
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      this.#child.kill('SIGKILL');
    await this.#exited;
    this.#guard.watch(undefined);
    this.#guard.dismiss();
  }
}
