import type { PreparedStatements } from './prepared-statements.js';
import type { StatementAnswer, Wire } from './wire.js';
import {
  executeMessage,
  type PreparedStatement,
  preparedStatement,
  syncMessage,
} from './wire-messages.js';

/** What every such transaction begins with: to be among its `PreparedStatements`. */
export const beginStatement = preparedStatement('BEGIN');

/** `BEGIN`, and statements with their values. */
export class PreparedOpening {
  readonly statements: PreparedStatements;
  readonly #message: Buffer;
  /** What is to be thrown if the answers, that to `BEGIN` first, do not let the transaction go on. With a `code`. */
  readonly judge: (answers: readonly StatementAnswer[]) => Error | undefined;

  /** @param running the first of them has `transactionStamp` as its last column. */
  constructor(
    statements: PreparedStatements,
    running: readonly (readonly [PreparedStatement, readonly string[]])[],
    judge: PreparedOpening['judge'],
  ) {
    this.statements = statements;
    const parts = running.map(([statement, values]) => executeMessage(statement, values));
    this.#message = Buffer.concat([executeMessage(beginStatement, []), ...parts, syncMessage]);
    this.judge = judge;
  }

  messageFor(wire: Wire): Buffer {
    const preparing = this.statements.preparing(wire);
    return preparing === undefined ? this.#message : Buffer.concat([preparing, this.#message]);
  }
}
