import { ClosedError, StoreRefusedError } from '../errors/index.js';
import { type Effect, judgeRepetition } from './rule.js';

/** How often work runs, if what it looked at is changed by others each time before its batch is executed. */
const mostRounds = 16;

const none: readonly Effect[] = [];

/**
 * What all batches have in common: they end with the work that fills them, a failure spoils them even if it is swallowed,
 * and they carry the effects that they record, each under the condition that nobody has recorded it meanwhile.
 */
export abstract class Batch {
  /** As `FencePromises.resource` of its fence. */
  protected abstract readonly resource: string;
  readonly #effects = new Map<string, Effect>();
  #isOpen = true;
  #failure: { readonly error: unknown } | undefined;

  /** Those that are recorded with the batch. */
  protected get effects(): readonly Effect[] {
    return this.#effects.size === 0 ? none : [...this.#effects.values()];
  }

  /** Runs a step of the caller's; if it throws, the batch is never executed. */
  protected orSpoil<Result>(step: () => Result): Result {
    // What reaches a batch after its end would vanish without a trace.
    if (!this.#isOpen) throw new ClosedError('the batch');
    try {
      return step();
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  /** @internal @param look the id that is recorded now. */
  async recordOnce(
    check: () => Effect,
    look: (effect: Effect) => Promise<string | undefined>,
  ): Promise<boolean> {
    const effect = this.orSpoil(check);
    const row = JSON.stringify([effect.scope, effect.key, effect.seq]);
    const found = this.#effects.get(row)?.id ?? (await this.#look(effect, look));
    // Somebody may have recorded it in this same batch while it was looked up.
    const recorded = this.#effects.get(row)?.id ?? found;
    if (recorded !== undefined) return judgeRepetition(this.resource, effect, recorded);
    this.orSpoil(() => this.#effects.set(row, effect));
    return true;
  }

  async #look(
    effect: Effect,
    look: (effect: Effect) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    try {
      return await look(effect);
    } catch (error) {
      return this.orSpoil(() => {
        throw error;
      });
    }
  }

  /** @internal Nothing is added from now on. */
  end(): void {
    this.#isOpen = false;
  }

  /** @internal @throws what spoiled it. */
  throwIfSpoiled(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/**
 * Runs work until the batch that it filled was executed.
 *
 * @param open makes an empty batch.
 * @param execute `false`: nothing was executed, since a condition of the batch did not hold any more.
 * @throws {StoreRefusedError} `CONTENDED`, with nothing executed, after 16 rounds.
 */
export async function runBatches<Kind extends Batch, Result>(
  what: string,
  open: () => Kind | Promise<Kind>,
  work: (batch: Kind) => Promise<Result>,
  execute: (batch: Kind) => Promise<boolean>,
): Promise<Result> {
  for (let round = 0; round < mostRounds; round++) {
    const opened = open();
    const batch = opened instanceof Promise ? await opened : opened;
    let result: Result;
    try {
      result = await work(batch);
    } finally {
      batch.end();
    }
    batch.throwIfSpoiled();
    if (await execute(batch)) return result;
  }
  throw new StoreRefusedError(
    'CONTENDED',
    `${what} met changes by others ${mostRounds} times; nothing was executed. Try again.`,
  );
}
