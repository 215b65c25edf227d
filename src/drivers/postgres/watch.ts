import type { Wire } from './wire.js';

/** Whether a transaction is still the one that was begun; `doubtful`: the server has to be asked. */
export type Standing = 'same' | 'doubtful' | 'over';

/**
 * Follows a transaction by what the server says of each statement that is run on its connection: all that ends one has a
 * command tag of its own, wherever in a message it stands. So nothing has to be left in the session to know it by.
 */
export class TransactionWatch {
  standing: Standing = 'same';
  /** Whether another one was begun after `standing` became doubtful: in between, statements may have been committed one by one. */
  isCommittedInPart = false;
  readonly #wire: Pick<Wire, 'on' | 'removeListener'>;
  #hasSavepoints = false;
  readonly #onComplete = ({ text }: { text?: unknown }) => this.#see(text);

  constructor(wire: Pick<Wire, 'on' | 'removeListener'>) {
    this.#wire = wire;
    wire.on('commandComplete', this.#onComplete);
  }

  /** What is left to say once the connection is gone. */
  get commits(): 'none' | 'possible' {
    return this.standing === 'same' ? 'none' : 'possible';
  }

  end(): void {
    this.#wire.removeListener('commandComplete', this.#onComplete);
  }

  #see(tag: unknown): void {
    switch (tag) {
      case 'COMMIT':
      case 'PREPARE TRANSACTION':
        this.standing = 'over';
        break;
      case 'SAVEPOINT':
        this.#hasSavepoints = true;
        break;
      case 'ROLLBACK':
        // Of the transaction, or to a savepoint.
        if (this.standing !== 'over') this.standing = this.#hasSavepoints ? 'doubtful' : 'over';
        break;
      case 'BEGIN':
      case 'START TRANSACTION':
        this.isCommittedInPart ||= this.standing === 'doubtful';
        break;
    }
  }
}
