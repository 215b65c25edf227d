import type { Commits } from './errors.js';
import type { Ask } from './session.js';

/** How our own statements of a transaction are asked; the work's are not timed by us. */
export type TransactionAsk = Omit<Ask, 'phase'>;

/** How a transaction ended that is not to be committed; `unknown`: the session is not fit for another one. */
export type Rollback = 'rolledBack' | 'endedByWork' | 'unknown';

/** A transaction that was begun, and knows whether the one that is open now is still it. */
export interface OpenTransaction {
  /** @throws {OutcomeUnknownError} if the work has ended it. {@link StoreRefusedError} if a statement in it has failed. */
  commit(): Promise<void>;
  /** Rolls back, and finds out whether it is the transaction which was begun that is rolled back. Never throws. */
  giveUp(): Promise<Rollback>;
  /**
   * Whether the work may have committed it, as far as the answers tell that have come: what is left to say once the connection is
   * gone. `unseen`: on a client whose answers nobody but its caller sees.
   */
  readonly commits: Commits;
  /** Leaves nothing of ours with the client. */
  end(): void;
}
