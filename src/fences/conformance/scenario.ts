import assert from 'node:assert/strict';
import { Holder } from '../../coordinators/index.js';
import { StaleTermError } from '../../errors/index.js';
import { realRuntime, sleep } from '../../time/index.js';
import type { Fence, FencingToken, TransactionFence } from '../contract.js';
import type { BatchFenceSubject, FenceSubject } from './subject.js';

/** A name that no other case uses, so that cases may share a resource. */
export function freshName(stem: string): string {
  return `conformance/${stem}-${realRuntime.randomHex(6)}`;
}

/** A token of a holder that is nobody else: a new nonce each time, even for the same id. */
export function tokenOf(name: string, term: number, id = 'worker'): FencingToken {
  return { name, term, holder: Holder.create(id, realRuntime) };
}

export function isInteractive<Transaction>(
  subject: BatchFenceSubject<Transaction>,
): subject is FenceSubject<Transaction> {
  return 'transaction' in subject;
}

/**
 * Runs `work` in a transaction of the user's own that begins with a check, where the fence can check one; else in a batch of
 * the fence.
 *
 * @param handle one of the subject's.
 */
export async function checked<Transaction, Result>(
  subject: BatchFenceSubject<Transaction>,
  handle: Fence<Transaction>,
  token: FencingToken,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  if (!isInteractive(subject)) return await handle.transaction(token, work);
  return await subject.transaction(async (open) => {
    await (handle as TransactionFence<Transaction>).check(open, token);
    return await work(open);
  });
}

/** Asserts that `attempt` rejects as stale and names both terms. */
export async function assertStale(
  attempt: Promise<unknown>,
  term: number,
  installedTerm: number,
): Promise<void> {
  const outcome = await outcomeOf(attempt);
  assert.ok('error' in outcome, `a write with term ${term} passed over term ${installedTerm}`);
  assert.ok(outcome.error instanceof StaleTermError, `not a StaleTermError: ${outcome.error}`);
  assert.equal(outcome.error.term, term);
  assert.equal(outcome.error.installedTerm, installedTerm);
}

export type Outcome<Value> = { readonly value: Value } | { readonly error: unknown };

export async function outcomeOf<Value>(promise: Promise<Value>): Promise<Outcome<Value>> {
  return await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

export function succeeded(outcome: Outcome<unknown>): boolean {
  return 'value' in outcome;
}

/** Long enough for a statement that need not wait, short enough to be waited out in each case that expects a wait. */
const soonMs = 250;

/** Whether `promise` settles without anybody else moving. A "no" may come from a slow machine: never assert on it. */
export async function settlesSoon(promise: Promise<unknown>): Promise<boolean> {
  return await settlesWithin(promise, soonMs);
}

export async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  const ended = new AbortController();
  const settled = outcomeOf(promise).then(() => true);
  const late = sleep(realRuntime, limitMs, ended.signal).then(() => false);
  const isSettled = await Promise.race([settled, late]);
  ended.abort();
  return isSettled;
}

/** A point in the middle of a piece of work: the work stops at `pass`, the test waits for `reached` and calls `open`. */
export class Gate {
  readonly reached: Promise<void>;
  readonly #opened: Promise<void>;
  #reach: () => void = () => {};
  #open: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  async pass(): Promise<void> {
    this.#reach();
    await this.#opened;
  }

  open(): void {
    this.#open();
  }
}
