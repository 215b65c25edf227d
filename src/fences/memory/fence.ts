import { validateName } from '../../coordinators/index.js';
import { requireInstance } from '../../errors/checks.js';
import { ClosedError, OptionError } from '../../errors/index.js';
import type { FencePromises, FencingToken, TransactionFence } from '../contract.js';
import { refusalOf } from '../refusal.js';
import {
  type Candidate,
  type InstalledTerm,
  judge,
  judgeRepetition,
  validateEffect,
  validateToken,
  validateWork,
} from '../rule.js';
import { MemoryResource, MemoryTransaction } from './resource.js';

const termTable = 'fences';
const effectTable = 'effects';

export interface MemoryFence extends TransactionFence<MemoryTransaction> {
  /** The resource this fence guards. */
  readonly resource: MemoryResource;
}

/**
 * A fence around a {@link MemoryResource}, for tests and demonstrations: real atomicity, no durability.
 *
 * @param resource the map to guard; default a new one. Fences on one resource share their terms, as two processes on
 * one database would.
 */
export function memoryFence(resource: MemoryResource = new MemoryResource()): MemoryFence {
  return new FenceInMemory(requireInstance('resource', resource, MemoryResource));
}

class FenceInMemory implements MemoryFence {
  readonly promises: FencePromises = {
    resource: 'memory',
    atomicWithEffect: true,
    durability: 'process',
    writersOfOneTerm: 'concurrent',
  };
  readonly resource: MemoryResource;
  #closed = false;

  constructor(resource: MemoryResource) {
    this.resource = resource;
  }

  async claim(token: FencingToken): Promise<void> {
    await this.transaction(token, async () => {});
  }

  async check(transaction: MemoryTransaction, token: FencingToken): Promise<void> {
    this.#assertOurs(transaction);
    const candidate = orSpoil(transaction, () => {
      this.#assertOpen();
      return validateToken('memory', token);
    });
    const { name, term, holderDigest } = candidate;
    const terms = transaction.table<InstalledTerm>(termTable);
    // Others may have claimed while the caller's work was awaiting something, so the commit judges once more. A refusal
    // is repeated there, for a caller who swallows the first one.
    const seen = terms.peek(name);
    const refused = judge(seen, candidate) === 'refuse';
    transaction.guardCommit(() => {
      assertPasses(refused ? seen : terms.peekCommitted(name), candidate);
    });
    if (assertPasses(seen, candidate) === 'install') terms.set(name, { term, holderDigest });
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    validateWork(work);
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
    this.#assertOurs(transaction);
    orSpoil(transaction, () => {
      this.#assertOpen();
      validateEffect(scope, key, seq, id);
    });
    const effects = transaction.table<string>(effectTable);
    const row = JSON.stringify([scope, key, seq]);
    // A tracked read: of two transactions that record one effect at a time, the second to commit is refused.
    const recordedId = effects.get(row);
    if (recordedId !== undefined)
      return judgeRepetition('memory', { scope, key, seq, id }, recordedId);
    effects.set(row, id);
    return true;
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#assertOpen();
    validateName(name);
    return await this.resource.transaction(
      async (transaction) => transaction.table<InstalledTerm>(termTable).peek(name)?.term,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #assertOpen(): void {
    if (this.#closed) throw new ClosedError('the memory fence');
  }

  #assertOurs(transaction: MemoryTransaction): void {
    if (transaction instanceof MemoryTransaction && transaction.resource === this.resource) return;
    const remedy = 'pass the transaction that resource.transaction() hands to its work';
    throw new OptionError(
      'transaction',
      transaction,
      "is not one of this fence's resource",
      remedy,
    );
  }
}

/** After a failure the transaction cannot commit, not even for a caller who swallows it. */
function orSpoil<Result>(transaction: MemoryTransaction, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    transaction.guardCommit(() => {
      throw error;
    });
    throw error;
  }
}

function assertPasses(
  installed: InstalledTerm | undefined,
  candidate: Candidate,
): 'pass' | 'install' {
  const verdict = judge(installed, candidate);
  if (verdict !== 'refuse') return verdict;
  throw refusalOf(candidate, installed);
}
