import type { PreparedStatements } from './prepared-statements.js';
import type { Wire } from './wire.js';
import { executeMessage, type PreparedStatement } from './wire-messages.js';

/**
 * Statements with their values that fail unless what comes behind them in their message may be executed. After a failure the
 * server skips everything up to the end of the message, and takes back all of it.
 */
export class PreparedGuard {
  readonly statements: PreparedStatements;
  readonly #message: Buffer;
  readonly count: number;

  constructor(
    statements: PreparedStatements,
    running: readonly (readonly [PreparedStatement, readonly string[]])[],
  ) {
    this.statements = statements;
    this.#message = Buffer.concat(running.map(([one, values]) => executeMessage(one, values)));
    this.count = running.length;
  }

  /** A message of these frames, in which it stands before the last two: Execute and Sync. */
  within(wire: Wire, frames: readonly Buffer[]): Buffer {
    const preparing = this.statements.preparing(wire);
    const all = [...frames.slice(0, -2), this.#message, ...frames.slice(-2)];
    return Buffer.concat(preparing === undefined ? all : [preparing, ...all]);
  }
}
