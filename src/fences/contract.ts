import type { Holder } from '../coordinators/index.js';
import type { LossAtStore } from '../leases/index.js';

/**
 * What a write carries to the resource: the name it protects, the term it was granted, and who holds it.
 * Every `Lease` is one.
 */
export interface FencingToken {
  readonly name: string;
  readonly term: number;
  readonly holder: Holder;
  /**
   * The fence has refused the token: a lease ends at once, and remembers the term that was in the way.
   *
   * @param installedTerm `undefined`: the lease itself does not stand, of which a fence beside the leases can tell.
   * @param reason why the lease ends. Default `superseded`.
   * @param resource the kind of resource, as {@link FencePromises.resource} names it: then it is counted as a refusal.
   */
  supersede?(installedTerm?: number, reason?: LossAtStore, resource?: string): void;
}

/**
 * The guard at the resource. It keeps, per name, the highest term it has seen and the digest of its holder, and lets
 * a write pass if its term is higher, or equal *from the same holder*. "Not lower" alone is wrong: after a failover
 * that lost the last write, a store can hand one number to two holders.
 *
 * `Transaction` is what the user's writes go through. Where the resource has transactions that a caller begins and that
 * can read and write until they end, the fence is a {@link TransactionFence}. Where it executes conditional batches only
 * (a script of Redis, a transaction of etcd), `Transaction` is such a batch: writes are queued in it, reads go beside it,
 * and one step of the resource checks the token and executes the queue, or nothing of it.
 */
export interface Fence<Transaction> {
  readonly promises: FencePromises;

  /**
   * Installs the token's term before its owner reads anything ("claim before read"), in a transaction of its own, so
   * that a predecessor's write either committed before and is seen, or is refused after. Repeating it is harmless.
   *
   * @throws {StaleTermError} if a higher term, or an equal one from another holder, is installed; nothing is changed.
   * {@link LeaseEndedError} from a fence that looks at the lease itself (its option `leases`), if that does not stand. Either
   * ends a lease that was passed.
   */
  claim(token: FencingToken): Promise<void>;

  /**
   * Runs `work`, and commits what it wrote in one atomic step with the check of the token.
   *
   * An interactive transaction begins with the check, so refused work never runs. A batch is checked when it is executed,
   * after `work` has returned: refused work has run, and has no effect in the resource. If what it looked at with
   * {@link recordOnce} has changed by then, `work` runs anew, with an empty batch: it must have no effect outside of it.
   *
   * @throws {StaleTermError} or {@link LeaseEndedError}, as `claim`, with nothing written; whatever `work` throws, likewise;
   * {@link UnreachableError} if the connection was lost before the commit, with nothing written, unless the work committed by itself
   * and nobody is left who knows that; {@link OutcomeUnknownError} if it was lost during the commit, or the work ended the
   * transaction itself, also if it threw afterwards (its error is the `cause`).
   */
  transaction<Result>(
    token: FencingToken,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result>;

  /**
   * Records, inside the caller's transaction, that message `id`, number `seq` of `key`, has its effect here. `false` if
   * it already had: skip the effect. This makes redelivery harmless ("effectively once").
   *
   * The id tells a redelivery from a numbering that began again, which would otherwise pass for one and lose the
   * message.
   *
   * @throws {SequenceReusedError} if the number is recorded for another id: the effect of this message is not there. Roll
   * back; or catch it, and commit what tells of it.
   */
  recordOnce(
    transaction: Transaction,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean>;

  /** The installed term of a name, or `undefined` if none was ever installed. */
  installedTerm(name: string): Promise<number | undefined>;

  close(): Promise<void>;
}

/**
 * A fence at a resource with interactive transactions, for instance a `pg` client inside `BEGIN`. The check and the user's
 * writes commit together or not at all.
 */
export interface TransactionFence<Transaction> extends Fence<Transaction> {
  /**
   * Checks the token inside the caller's transaction and keeps it valid until the transaction ends: a successor's
   * `claim` waits for the end, or goes first and this check, or the commit, fails. Call it before the first read or
   * write.
   *
   * @throws {StaleTermError} as `claim` does. {@link OptionError} if there is no transaction to be guarded. Roll back:
   * after any failure the transaction cannot commit anything, not even if the error is swallowed.
   */
  check(transaction: Transaction, token: FencingToken): Promise<void>;
}

/**
 * A fence whose terms, and the effects that were recorded, stand in tables beside the data it guards.
 *
 * `Guarded` is what {@link check} and {@link recordOnce} take: whatever is inside a transaction, be it one of the fence's or one
 * that the caller began.
 */
export interface StoredFence<Transaction extends Guarded, Guarded = Transaction>
  extends TransactionFence<Transaction> {
  check(transaction: Guarded, token: FencingToken): Promise<void>;
  recordOnce(
    transaction: Guarded,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean>;
  /** The SQL that `migrate` runs, for a migration tool of your own. */
  readonly migrationSql: string;
  /**
   * Creates the tables, and the schema or database that they stand in, unless they are there. Safe to call at every start, by
   * many processes at once.
   *
   * @throws {StoreMisconfiguredError} if they are missing and whoever connects may not create them.
   */
  migrate(): Promise<void>;
  /**
   * Deletes up to 10 000 effects that were recorded more than `olderThanMs` ago (by the server's clock; for a file, by this
   * machine's wall clock) and returns how many it deleted: call it until it returns 0. Keep what can still be delivered again.
   */
  forgetEffects(olderThanMs: number): Promise<number>;
}

export interface FencePromises {
  readonly resource: string;
  /** Whether check and effect are one atomic step. */
  readonly atomicWithEffect: boolean;
  /** What the installed terms survive. */
  readonly durability: 'process' | 'crash';
  /** Whether several transactions of one term and holder may be open side by side, or wait for each other. */
  readonly writersOfOneTerm: 'concurrent' | 'serial';
  /** What else one must know before relying on it, in a sentence or two. Default: nothing. */
  readonly limits?: string;
}
