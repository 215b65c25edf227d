import { sqlStateOf } from './errors.js';
import type { Wire } from './wire.js';
import { type PreparedStatement, prepareMessage } from './wire-messages.js';

/** The SQLSTATE of a prepared statement that the session does not have. */
const noSuchStatement = '26000';

/** In a row: behind a pooler one message may reach a session in which the last one prepared nothing. */
const mostLosses = 3;

/** Statements that are used together, and which of the connections have them prepared. */
export class PreparedStatements {
  readonly #preparing: Buffer;
  readonly #prepared = new WeakSet<Wire>();
  #lossCount = 0;

  constructor(statements: readonly PreparedStatement[]) {
    this.#preparing = Buffer.concat(statements.map(prepareMessage));
  }

  /** Whether preparing pays here. */
  get areKept(): boolean {
    return this.#lossCount < mostLosses;
  }

  /** They cannot be used with the clients here. */
  abandon(): void {
    this.#lossCount = Number.POSITIVE_INFINITY;
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

  /** Whether this failure says that one is not prepared, although it was; takes note of it. */
  isLost(wire: Wire, error: unknown): boolean {
    if (sqlStateOf(error) !== noSuchStatement) return false;
    this.#prepared.delete(wire);
    this.#lossCount += 1;
    return true;
  }
}
