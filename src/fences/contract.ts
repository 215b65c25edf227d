import type { Holder } from '../coordinators/index.js';

/**
 * What a write carries to the resource: the name it protects, the term it was granted, and who holds it.
 * Every `Lease` is one.
 */
export interface FencingToken {
  readonly name: string;
  readonly term: number;
  readonly holder: Holder;
}

/**
 * The guard at the resource. It keeps, per name, the highest term it has seen and the digest of its holder, and lets
 * a write pass if its term is higher, or equal *from the same holder*. "Not lower" alone is wrong: after a failover
 * that lost the last write, a store can hand one number to two holders.
 *
 * `Transaction` is whatever the resource calls one, for instance a `pg` client inside `BEGIN`. The check and the
 * user's writes commit together or not at all.
 */
export interface Fence<Transaction> {
  readonly promises: FencePromises;

  /**
   * Installs the token's term before its owner reads anything ("claim before read"), in a transaction of its own, so
   * that a predecessor's write either committed before and is seen, or is refused after. Repeating it is harmless.
   *
   * @throws {StaleTermError} if a higher term, or an equal one from another holder, is installed; nothing is changed.
   */
  claim(token: FencingToken): Promise<void>;

  /**
   * Checks the token inside the caller's transaction and keeps it valid until the transaction ends: a successor's
   * `claim` waits for the end, or goes first and this check, or the commit, fails. Call it before the first read or
   * write.
   *
   * @throws {StaleTermError} as `claim` does. {@link OptionError} if there is no transaction to be guarded. Roll back:
   * after any failure the transaction cannot commit anything, not even if the error is swallowed.
   */
  check(transaction: Transaction, token: FencingToken): Promise<void>;

  /**
   * Runs `work` in a transaction that begins with {@link check} and commits after it.
   *
   * @throws {StaleTermError} with nothing written; whatever `work` throws, with nothing written;
   * {@link OutcomeUnknownError} if the connection was lost during the commit, or the work ended the transaction itself.
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
   * @throws {SequenceReusedError} if the number is recorded for another id. Roll back: the effect of this message is
   * not there.
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

export interface FencePromises {
  readonly resource: string;
  /** Whether check and effect are one atomic step. */
  readonly atomicWithEffect: boolean;
  /** What the installed terms survive. */
  readonly durability: 'process' | 'crash';
  /** Whether several transactions of one term and holder may be open side by side, or wait for each other. */
  readonly writersOfOneTerm: 'concurrent' | 'serial';
}
