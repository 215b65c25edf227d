import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import type { WorkerTask } from './messages.js';
import { WorkerProcess } from './process.js';
import { type ProofPlace, type ProofServers, prepare, type StoreName } from './stores.js';
import { Witness } from './witness.mjs';

export interface RoundsOptions {
  readonly roundCount: number;
  /** How many rounds two processes play before their successors do; in each such batch one of them is killed. */
  readonly batchSize: number;
  readonly isGuarded: boolean;
  readonly seed: number;
}

export interface RoundsReport {
  /** Keys that two processes wanted. */
  readonly rounds: number;
  readonly kills: number;
  /** Effects that the witness has counted: one for each key, or something is wrong. */
  readonly effects: number;
  readonly twice: number;
  readonly missing: number;
  /** Answers that were not the receipt of the effect that the witness knows. */
  readonly wrongReceipts: number;
  /** Attempts that nobody knew the outcome of: their effect was there, or was not. */
  readonly foundDone: number;
  readonly repeated: number;
}

/**
 * Two processes want the effects of the same keys at once, and one of them is killed in the middle; another takes its
 * place and wants them all again. Whoever meets an attempt of unknown outcome looks at the witness.
 */
export async function runRounds(
  store: StoreName,
  servers: ProofServers,
  options: RoundsOptions,
): Promise<RoundsReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-once-proof-'));
  const { place, remove } = await prepare(store, servers, folder);
  try {
    return await new Rounds(place, folder, options).run();
  } finally {
    await remove();
    rmSync(folder, { recursive: true });
  }
}

class Rounds {
  readonly #place: ProofPlace;
  readonly #folder: string;
  readonly #options: RoundsOptions;
  readonly #random: VirtualRuntime;
  readonly #totals = { twice: 0, missing: 0, wrongReceipts: 0, effects: 0, kills: 0 };
  readonly #met = { foundDone: 0, repeated: 0 };

  constructor(place: ProofPlace, folder: string, options: RoundsOptions) {
    this.#place = place;
    this.#folder = folder;
    this.#options = options;
    this.#random = new VirtualRuntime({ seed: options.seed });
  }

  async run(): Promise<RoundsReport> {
    const { roundCount, batchSize } = this.#options;
    // Two that play, and one that takes the place of the next that is killed.
    const workers = [0, 1, 2].map(() => new WorkerProcess(this.#place));
    try {
      for (let from = 0; from < roundCount; from += batchSize)
        await this.#batch(workers, from, Math.min(batchSize, roundCount - from));
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
    }
    return { rounds: roundCount, ...this.#totals, ...this.#met };
  }

  async #batch(workers: WorkerProcess[], from: number, size: number): Promise<void> {
    const keys = Array.from({ length: size }, (_, index) => `round-${from + index}`);
    // One for each batch: looks would take longer and longer.
    const path = join(this.#folder, `witness-${from}`);
    const task: WorkerTask = { keys, witness: path, isGuarded: this.#options.isGuarded };
    await Promise.all(workers.map((worker) => worker.ready));
    const isFirst = this.#random.random() < 0.5;
    const [one, two, spare] = workers as [WorkerProcess, WorkerProcess, WorkerProcess];
    const [victim, survivor] = isFirst ? [one, two] : [two, one];
    // Nobody else wants this one before the kill, so that at least one attempt is left without a known outcome.
    const key = keys[Math.floor(this.#random.random() * size)] as string;
    const isCharged = this.#random.random() < 0.5;
    const doomed = victim.do({ ...task, staysIn: { key, isCharged } });
    const begun = survivor.do({ ...task, keys: keys.filter((other) => other !== key) });
    await doomed.staying;
    await victim.kill();
    this.#totals.kills += 1;
    const ends = [begun.ended, spare.do(task).ended];
    for (const { foundDone, repeated } of await Promise.all(ends)) {
      this.#met.foundDone += foundDone;
      this.#met.repeated += repeated;
    }
    this.#judge(keys, new Witness(path), [victim, survivor, spare]);
    workers.splice(0, workers.length, survivor, spare, new WorkerProcess(this.#place));
  }

  #judge(keys: readonly string[], witness: Witness, workers: readonly WorkerProcess[]): void {
    const receipts = new Map<string, string[]>(keys.map((key) => [key, []]));
    for (const { key, receipt } of witness.charges()) receipts.get(key)?.push(receipt);
    for (const [key, known] of receipts) {
      this.#totals.effects += known.length;
      if (known.length > 1) this.#totals.twice += 1;
      if (known.length === 0) this.#totals.missing += 1;
      for (const { receipts: given } of workers) {
        const receipt = given.get(key);
        if (receipt !== undefined && receipt !== known[0]) this.#totals.wrongReceipts += 1;
      }
    }
  }
}
