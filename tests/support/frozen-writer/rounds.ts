import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freshName, settlesWithin, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { Guard, serverEnvironment } from '../servers/process.js';
import type { WriterNews, WriterTask } from './messages.js';
import type { FencedServers, FencedStore, FreezePoint, LogSide } from './store.js';

export interface RoundsOptions {
  readonly roundCount: number;
  readonly isFenced: boolean;
  readonly seed: number;
}

/** What a witness at the resource has counted. */
export interface RoundsReport {
  readonly rounds: number;
  /** Writes of the old owner that came in after its successor had claimed the name and read. */
  readonly acceptedStale: number;
  /** Rounds whose old owner was told that its term is stale. */
  readonly refused: number;
  /** Rounds in which the successor could not go on until the old owner was woken. */
  readonly heldUp: number;
  /** The longest that a successor waited for its claim. */
  readonly longestClaimMs: number;
  /** How the frozen writes ended, and how often. */
  readonly outcomes: Readonly<Record<string, number>>;
}

const points: readonly FreezePoint[] = ['before', 'inside', 'anywhere'];
/** For a store that lets a claim wait for as long as the old owner is frozen. */
const heldUpAfterMs = 200;

/**
 * Rounds of the accident that fences are for: an owner, a real process, is stopped with SIGSTOP in the middle of its work.
 * A successor claims the name, reads, and writes. Then the old one wakes and goes on.
 */
export async function runFrozenRounds(
  store: FencedStore,
  servers: FencedServers,
  options: RoundsOptions,
): Promise<RoundsReport> {
  const { target, remove } = await store.prepare(servers);
  const writer = new FrozenWriter(store.url, target);
  const successor = await store.open(target);
  try {
    await writer.hears(0, 'ready');
    return await new Rounds(store, writer, successor, options).run();
  } finally {
    await writer.kill();
    await successor.close();
    await remove();
  }
}

class Rounds {
  readonly #store: FencedStore;
  readonly #writer: FrozenWriter;
  readonly #successor: LogSide;
  readonly #options: RoundsOptions;
  readonly #runtime: VirtualRuntime;
  readonly #outcomes: Record<string, number> = {};
  #acceptedStale = 0;
  #heldUp = 0;
  #longestClaimMs = 0;

  constructor(
    store: FencedStore,
    writer: FrozenWriter,
    successor: LogSide,
    options: RoundsOptions,
  ) {
    this.#store = store;
    this.#writer = writer;
    this.#successor = successor;
    this.#options = options;
    this.#runtime = new VirtualRuntime({ seed: options.seed });
  }

  async run(): Promise<RoundsReport> {
    const { roundCount } = this.#options;
    for (let round = 1; round <= roundCount; round++) await this.#round(round);
    return {
      rounds: roundCount,
      acceptedStale: this.#acceptedStale,
      refused: this.#outcomes.StaleTermError ?? 0,
      heldUp: this.#heldUp,
      longestClaimMs: Math.round(this.#longestClaimMs),
      outcomes: this.#outcomes,
    };
  }

  async #round(round: number): Promise<void> {
    const { isFenced } = this.#options;
    const point = points[round % points.length] ?? 'before';
    const task: WriterTask = { round, name: freshName('frozen'), term: 5, isFenced, point };
    const { name, term } = task;
    this.#writer.send(task);
    await this.#writer.hears(round, 'ready');
    if (point === 'anywhere') await pause(this.#runtime.random() * 20);
    this.#writer.signal('SIGSTOP');

    const token = tokenOf(name, term + 1);
    if (isFenced) await this.#claim(() => this.#successor.claim(token));
    const seen = await this.#successor.count(name, term);
    const write = this.#successor.append(token, isFenced, async () => {});
    await this.#orWake(write);
    this.#writer.signal('SIGCONT');
    const { outcome } = await this.#writer.hears(round, 'end');
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
    this.#acceptedStale += (await this.#successor.count(name, term)) - seen;
  }

  async #claim(claim: () => Promise<void>): Promise<void> {
    const startedMs = performance.now();
    await this.#orWake(claim());
    this.#longestClaimMs = Math.max(this.#longestClaimMs, performance.now() - startedMs);
  }

  /** Waits for a step of the successor; wakes the old owner if it stands in the way, as it may on some stores. */
  async #orWake(step: Promise<void>): Promise<void> {
    const limitMs = this.#store.claimLimitMs ?? heldUpAfterMs;
    if (!(await settlesWithin(step, limitMs))) {
      this.#heldUp += 1;
      this.#writer.signal('SIGCONT');
    }
    await step;
  }
}

/** The process of the old owner. It never outlives this one, frozen or not. */
class FrozenWriter {
  readonly #child: ChildProcess;
  readonly #guard = new Guard(['KILL'], undefined);
  readonly #news: WriterNews[] = [];
  #heard: () => void = () => {};

  constructor(url: string, target: string) {
    const program = fileURLToPath(new URL('writer.mjs', import.meta.url));
    this.#child = fork(program, [url, target], { env: serverEnvironment() });
    this.#guard.watch(this.#child.pid);
    this.#child.on('message', (news: WriterNews) => {
      this.#news.push(news);
      this.#heard();
    });
    this.#child.once('exit', () => this.#heard());
  }

  send(task: WriterTask): void {
    this.#child.send(task);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** News of a round. An end that comes early is what there is to hear. */
  async hears(round: number, at: WriterNews['at']): Promise<{ readonly outcome: string }> {
    for (;;) {
      const found = this.#news.find((news) => news.round === round && news.at === at);
      if (found !== undefined) return { outcome: 'outcome' in found ? found.outcome : '' };
      const end = this.#news.find((news) => news.round === round && news.at === 'end');
      if (end !== undefined) throw new Error(`round ${round} ended early: ${JSON.stringify(end)}`);
      if (this.#child.exitCode !== null) throw new Error('the writer has ended');
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exit;
    }
    this.#guard.watch(undefined);
    this.#guard.dismiss();
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
