import { StaleTermError } from '../../../src/errors/index.js';
import type { FencingToken } from '../../../src/fences/index.js';
import type { MemoryTransaction } from '../../../src/fences/memory/index.js';
import type { Candidate, InstalledTerm } from '../../../src/fences/rule.js';
import { staleError, TemplateFence, type WrongFence, wrong } from './template.js';

/** Looks first, acts later: whatever happens in between is missed. */
class ChecksInAnotherStep extends TemplateFence {
  protected override judgeCommit(): void {}
}

class RefusesAfterTheEffect extends TemplateFence {
  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    return await this.resource.transaction(async (transaction) => {
      const result = await work(transaction);
      await this.check(transaction, token);
      return result;
    });
  }
}

class ForgetsItsRefusals extends TemplateFence {
  protected override refuse(
    _transaction: MemoryTransaction,
    candidate: Candidate,
    installed: InstalledTerm | undefined,
  ): void {
    throw staleError(candidate, installed);
  }
}

class ForgetsItsFailures extends TemplateFence {
  protected override orSpoil<Result>(_: MemoryTransaction, step: () => Result): Result {
    return step();
  }
}

class WrapsTheWorksError extends TemplateFence {
  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await super.transaction(token, work);
    } catch (error) {
      if (error instanceof StaleTermError) throw error;
      throw new Error('the transaction failed', { cause: error });
    }
  }
}

class SerialDespiteItsPromise extends TemplateFence {
  static last: Promise<unknown> = Promise.resolve();

  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    const mine = SerialDespiteItsPromise.last.then(() => super.transaction(token, work));
    SerialDespiteItsPromise.last = mine.catch(() => {});
    return await mine;
  }
}

class ChecksOncePerTransaction extends TemplateFence {
  readonly #checked = new WeakSet<MemoryTransaction>();

  override async check(transaction: MemoryTransaction, token: FencingToken): Promise<void> {
    if (this.#checked.has(transaction)) return;
    this.#checked.add(transaction);
    await super.check(transaction, token);
  }
}

class DropsTheResult extends TemplateFence {
  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    await super.transaction(token, work);
    return undefined as Result;
  }
}

class WorksAfterClose extends TemplateFence {
  protected override assertOpen(): void {}
}

/** Mistakes around the work of a transaction. */
export const working: readonly WrongFence[] = [
  wrong(
    'checks in another step than it acts',
    ChecksInAnotherStep,
    'check-is-atomic-with-effect',
    'claim-before-read',
    'claim-before-late-write',
    'higher-write-races-open-write',
  ),
  wrong('checks after the work', RefusesAfterTheEffect, 'lower-term-refused'),
  wrong('forgets its refusals', ForgetsItsRefusals, 'refusal-cannot-be-swallowed'),
  wrong('forgets its failures', ForgetsItsFailures, 'failure-cannot-be-swallowed'),
  wrong("wraps the work's error", WrapsTheWorksError, 'failed-work-leaves-nothing'),
  wrong(
    'makes writers of one term wait',
    SerialDespiteItsPromise,
    'writers-of-one-term',
    'stale-refused-at-once',
  ),
  wrong('checks once per transaction', ChecksOncePerTransaction, 'two-names-one-transaction'),
  wrong('drops the result', DropsTheResult, 'transaction-returns-the-result'),
  wrong('works after close', WorksAfterClose, 'close-is-final'),
];
