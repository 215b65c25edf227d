import { ClosedError, type StaleTermError } from '../../../src/errors/index.js';
import type { FencePromises, FencingToken, TransactionFence } from '../../../src/fences/index.js';
import type { MemoryResource, MemoryTransaction } from '../../../src/fences/memory/index.js';
import { refusalOf } from '../../../src/fences/refusal.js';
import {
  type Candidate,
  type Effect,
  type InstalledTerm,
  judge,
  judgeRepetition,
  type Verdict,
  validateEffect,
  validateToken,
} from '../../../src/fences/rule.js';

/**
 * A fence that is right, in pieces that can be replaced by wrong ones. Each wrong fence overrides one piece, so that
 * the suite is shown to judge that piece.
 */
export class TemplateFence implements TransactionFence<MemoryTransaction> {
  readonly promises: FencePromises = {
    resource: 'template',
    atomicWithEffect: true,
    durability: 'process',
    writersOfOneTerm: 'concurrent',
  };
  protected isClosed = false;

  constructor(protected readonly resource: MemoryResource) {}

  async claim(token: FencingToken): Promise<void> {
    await this.transaction(token, async () => {});
  }

  async check(transaction: MemoryTransaction, token: FencingToken): Promise<void> {
    const candidate = this.orSpoil(transaction, () => {
      this.assertOpen();
      return this.accept(token);
    });
    const { name, term, holderDigest } = candidate;
    const terms = transaction.table<InstalledTerm>('terms');
    const seen = terms.peek(name);
    const verdict = this.judge(seen, candidate);
    if (verdict === 'refuse') this.refuse(transaction, candidate, seen);
    if (verdict === 'install') terms.set(name, { term, holderDigest });
    transaction.guardCommit(() => this.judgeCommit(terms.peekCommitted(name), candidate));
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    return await this.resource.transaction(async (transaction) => {
      await this.check(transaction, token);
      return await work(transaction);
    });
  }

  async recordOnce(
    transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    this.orSpoil(transaction, () => {
      this.assertOpen();
      validateEffect(scope, key, seq, id);
    });
    const effects = transaction.table<string>('effects');
    const row = this.effectRow(scope, key, seq);
    const recordedId = effects.get(row);
    if (recordedId !== undefined) {
      return this.judgeRepetition({ scope, key, seq, id }, recordedId);
    }
    effects.set(row, id);
    return true;
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.assertOpen();
    return await this.resource.transaction(
      async (transaction) => transaction.table<InstalledTerm>('terms').peek(name)?.term,
    );
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  protected accept(token: FencingToken): Candidate {
    return validateToken('memory', token);
  }

  protected judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    return judge(installed, candidate);
  }

  protected judgeCommit(installed: InstalledTerm | undefined, candidate: Candidate): void {
    if (this.judge(installed, candidate) === 'refuse') throw staleError(candidate, installed);
  }

  protected refuse(
    transaction: MemoryTransaction,
    candidate: Candidate,
    installed: InstalledTerm | undefined,
  ): void {
    transaction.guardCommit(() => {
      throw staleError(candidate, installed);
    });
    throw staleError(candidate, installed);
  }

  protected orSpoil<Result>(transaction: MemoryTransaction, step: () => Result): Result {
    try {
      return step();
    } catch (error) {
      transaction.guardCommit(() => {
        throw error;
      });
      throw error;
    }
  }

  protected effectRow(scope: string, key: string, seq: number): string {
    return JSON.stringify([scope, key, seq]);
  }

  protected judgeRepetition(effect: Effect, recordedId: string): boolean {
    return judgeRepetition('memory', effect, recordedId);
  }

  protected assertOpen(): void {
    if (this.isClosed) throw new ClosedError('the fence');
  }
}

export function staleError(
  candidate: Candidate,
  installed: InstalledTerm | undefined,
): StaleTermError {
  return refusalOf(candidate, installed);
}

/** A mistake that somebody has made or will make, and the cases that must find it. */
export interface WrongFence {
  readonly title: string;
  readonly rejectedBy: readonly string[];
  readonly guard: (resource: MemoryResource) => TransactionFence<MemoryTransaction>;
}

export function wrong(
  title: string,
  make: new (resource: MemoryResource) => TransactionFence<MemoryTransaction>,
  ...rejectedBy: readonly string[]
): WrongFence {
  return { title, rejectedBy, guard: (resource) => new make(resource) };
}
