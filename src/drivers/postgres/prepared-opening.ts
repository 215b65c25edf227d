import { sqlStateOf } from './errors.js';
import type { StatementAnswer, Wire } from './wire.js';
import {
  executeMessage,
  type PreparedStatement,
  preparedStatement,
  prepareMessage,
  syncMessage,
} from './wire-messages.js';

/** The SQLSTATE of a prepared statement that the session does not have. */
const noSuchStatement = '26000';

/** In a row: behind a pooler one message may reach a session in which the last one prepared nothing. */
const mostLosses = 3;

const begin = preparedStatement('BEGIN');

/** The statements with which some transactions begin, and which of the connections have them prepared. */
export class OpeningStatements {
  readonly #preparing: Buffer;
  readonly #prepared = new WeakSet<Wire>();
  #lossCount = 0;

  constructor(statements: readonly PreparedStatement[]) {
    this.#preparing = Buffer.concat([begin, ...statements].map(prepareMessage));
  }

  /** Whether preparing pays here. */
  get areKept(): boolean {
    return this.#lossCount < mostLosses;
  }

  /** What has to be sent before they are used. */
  preparing(wire: Wire): Buffer | undefined {
    return this.#prepared.has(wire) ? undefined : this.#preparing;
  }

  /** It was sent there, and what it uses is prepared there. */
  keep(wire: Wire): void {
    if (this.#prepared.has(wire)) this.#lossCount = 0;
    else this.#prepared.add(wire);
  }

  lose(wire: Wire): void {
    this.#prepared.delete(wire);
    this.#lossCount += 1;
  }
}

/** `BEGIN`, and statements with their values. */
export class PreparedOpening {
  readonly #statements: OpeningStatements;
  readonly #message: Buffer;
  /** What is to be thrown if the answers, that to `BEGIN` first, do not let the transaction go on. With a `code`. */
  readonly judge: (answers: readonly StatementAnswer[]) => Error | undefined;

  /** @param running the first of them has `transactionStamp` as its last column. */
  constructor(
    statements: OpeningStatements,
    running: readonly (readonly [PreparedStatement, readonly string[]])[],
    judge: PreparedOpening['judge'],
  ) {
    this.#statements = statements;
    const parts = running.map(([statement, values]) => executeMessage(statement, values));
    this.#message = Buffer.concat([executeMessage(begin, []), ...parts, syncMessage]);
    this.judge = judge;
  }

  get isUsable(): boolean {
    return this.#statements.areKept;
  }

  messageFor(wire: Wire): Buffer {
    const preparing = this.#statements.preparing(wire);
    return preparing === undefined ? this.#message : Buffer.concat([preparing, this.#message]);
  }

  /** They are prepared there from now on. */
  keep(wire: Wire): void {
    this.#statements.keep(wire);
  }

  /** Whether this failure says that they are not, although they were; takes note of it. */
  isLost(wire: Wire, error: unknown): boolean {
    if (sqlStateOf(error) !== noSuchStatement) return false;
    this.#statements.lose(wire);
    return true;
  }
}
