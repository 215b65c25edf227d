import { validateName } from '../coordinators/index.js';
import { ClosedError } from '../errors/index.js';
import type { FencePromises, FencingToken, StoredFence } from './contract.js';
import {
  type Candidate,
  type Effect,
  type InstalledTerm,
  validateAge,
  validateEffect,
  validateToken,
  validateWork,
} from './rule.js';

/**
 * What all stored fences do alike: they look at what they are given, take nothing after their end, and say in messages what was
 * asked for. What is left to a store is to do it.
 *
 * `Open` is what a step inside a transaction asks its statements of.
 */
export abstract class FenceInTables<Transaction extends Guarded, Guarded, Open = Guarded>
  implements StoredFence<Transaction, Guarded>
{
  abstract readonly promises: FencePromises;
  abstract readonly migrationSql: string;
  /** How messages name the fence. */
  protected abstract readonly title: string;
  /** How they name a check whose token is not looked at yet. */
  protected readonly checking: string = 'a check of a token';
  #closing: Promise<void> | undefined;

  /** Installs the candidate in a transaction of its own. @throws {StaleTermError} */
  protected abstract install(candidate: Candidate, what: string): Promise<void>;
  /** Runs the work in a transaction of its own that begins with {@link admit}. */
  protected abstract runUnder<Result>(
    candidate: Candidate,
    what: string,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Runs a step inside a transaction that is open. After a failure that can only be rolled back, unless the failure is an answer:
   * a number that was used twice.
   *
   * @throws {OptionError} if there is no transaction.
   */
  protected abstract inside<Result>(
    transaction: Guarded,
    what: string,
    step: (open: Open) => Result | Promise<Result>,
  ): Result | Promise<Result>;
  /** Lets the candidate pass, or installs it, until the transaction ends. @throws {StaleTermError} */
  protected abstract admit(open: Open, candidate: Candidate, what: string): void | Promise<void>;
  /** `false`: it is recorded there already. @throws {SequenceReusedError} */
  protected abstract record(open: Open, effect: Effect, what: string): boolean | Promise<boolean>;
  protected abstract read(name: string, what: string): Promise<InstalledTerm | undefined>;
  protected abstract createTables(): Promise<void>;
  /** Deletes the oldest of them. @returns how many. */
  protected abstract deleteEffects(olderThanMs: number, what: string): Promise<number>;
  protected abstract end(): Promise<void>;

  async claim(token: FencingToken): Promise<void> {
    const candidate = this.accept(token);
    await this.install(candidate, `the claim of "${candidate.name}"`);
  }

  async check(transaction: Guarded, token: FencingToken): Promise<void> {
    // Not `async`, nor is the step of a record: where the store answers at once, it is all over when the call returns.
    await this.inside(transaction, this.checking, (open) => {
      const candidate = this.accept(token);
      return this.admit(open, candidate, `the check of "${candidate.name}"`);
    });
  }

  async transaction<Result>(
    token: FencingToken,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    const candidate = this.accept(token);
    validateWork(work);
    return await this.runUnder(candidate, `the transaction under "${candidate.name}"`, work);
  }

  async recordOnce(
    transaction: Guarded,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    const what = 'the record of an effect';
    return await this.inside(transaction, what, (open) => {
      this.#assertOpen();
      validateEffect(scope, key, seq, id);
      return this.record(open, { scope, key, seq, id }, what);
    });
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#assertOpen();
    validateName(name);
    return (await this.read(name, `reading the term of "${name}"`))?.term;
  }

  async migrate(): Promise<void> {
    this.#assertOpen();
    await this.createTables();
  }

  async forgetEffects(olderThanMs: number): Promise<number> {
    this.#assertOpen();
    validateAge(olderThanMs);
    return await this.deleteEffects(olderThanMs, 'forgetting old effects');
  }

  async close(): Promise<void> {
    this.#closing ??= this.end();
    await this.#closing;
  }

  /** A token as the store keeps it. @throws {ClosedError} @throws {OptionError} */
  protected accept(token: FencingToken): Candidate {
    this.#assertOpen();
    return validateToken(this.promises.resource, token);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError(this.title);
  }
}
