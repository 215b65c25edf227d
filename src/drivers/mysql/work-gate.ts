import { ClosedError } from '../../errors/index.js';
import type { MysqlConnection } from './client.js';
import { mayCommit } from './may-commit.js';

/** What sends a text, which comes first, by itself or as `sql`. */
const texts = ['query', 'execute', 'prepare'];
/** What else sends something. */
const sending = ['beginTransaction', 'commit', 'rollback', 'ping', 'reset', 'changeUser', 'end'];
/** Those of {@link sending} that commit what is open. */
const committing = ['beginTransaction', 'commit'];
const ending = ['release', 'destroy'];

/** A connection as ours, whatever it is closed to. */
export type OwnConnection = Pick<MysqlConnection, 'query' | 'execute' | 'release' | 'destroy'>;

type Method = (...given: unknown[]) => unknown;

/** Objects that came from their pool again after they had had a gate, so that they are not of one checkout. */
const comingBack = new WeakSet<object>();
/** What was replaced on an object that has a gate: its own properties as they were, or that it had none. */
const replaced = new WeakMap<object, Map<string, PropertyDescriptor | undefined>>();
const gates = new WeakMap<object, WorkGate>();

/**
 * Stands between the work of a transaction and its connection: knows whether the work may have committed by itself, and is
 * closed at its end to work that goes on unawaited, also through a method or a prepared statement that it took before. What that
 * sends would be outside of its transaction, and on a connection that somebody else may have by then. It can be neither given
 * back nor closed by such work, either: our commit may be under way on it.
 *
 * Only where the pool makes an object for each checkout, as `mysql2/promise` does: another one belongs to whoever has it next.
 */
export class WorkGate {
  /** For what of ours comes after the end of the work. */
  readonly own: OwnConnection;
  /** Whether something was sent that may have committed. */
  mayHaveCommitted = false;
  #closedFor: string | undefined;

  private constructor(connection: MysqlConnection) {
    const { query, execute, release, destroy } = connection;
    this.own = {
      query: (statement) => query.call(connection, statement),
      execute: (statement) => execute.call(connection, statement),
      release: () => release.call(connection),
      destroy: () => destroy.call(connection),
    };
    replaced.set(connection, new Map());
    for (const name of texts) this.#put(connection, name, (send) => this.#sendingText(name, send));
    for (const name of sending) this.#put(connection, name, (send) => this.#sending(name, send));
    for (const name of ending)
      this.#put(connection, name, (end) => () => (this.#isClosed ? undefined : end()));
  }

  /** @returns `undefined` where there can be none. */
  static before(connection: MysqlConnection): WorkGate | undefined {
    const { constructor: kind } = Object(connection);
    const isOfOneCheckout = kind?.name === 'PromisePoolConnection' && !comingBack.has(connection);
    if (!isOfOneCheckout) return undefined;
    const gate = new WorkGate(connection);
    gates.set(connection, gate);
    return gate;
  }

  /** Sends what is ours and commits nothing, whatever its text looks like. Refused as all else where the gate is closed. */
  static pass<Result>(connection: object, send: () => Result): Result {
    const gate = gates.get(connection);
    if (gate === undefined) return send();
    const { mayHaveCommitted } = gate;
    try {
      return send();
    } finally {
      gate.mayHaveCommitted = mayHaveCommitted;
    }
  }

  /** For a connection that comes from its pool: it has no gate. */
  static removeFrom(connection: MysqlConnection): void {
    const before = replaced.get(connection);
    if (before === undefined) return;
    replaced.delete(connection);
    gates.delete(connection);
    comingBack.add(connection);
    for (const [name, own] of before) {
      Reflect.deleteProperty(connection, name);
      if (own !== undefined) Object.defineProperty(connection, name, own);
    }
  }

  close(what: string): void {
    this.#closedFor ??= what;
  }

  get #isClosed(): boolean {
    return this.#closedFor !== undefined;
  }

  #put(connection: object, name: string, gated: (method: Method) => Method): void {
    const method: unknown = Reflect.get(connection, name);
    if (typeof method !== 'function') return;
    replaced.get(connection)?.set(name, Reflect.getOwnPropertyDescriptor(connection, name));
    const value = gated((...given) => method.apply(connection, given));
    Object.defineProperty(connection, name, { value, configurable: true, writable: true });
  }

  #sendingText(name: string, send: Method): Method {
    const gated = this.#gated((...given) => {
      this.mayHaveCommitted ||= mayCommit(given[0]);
      return send(...given);
    });
    if (name !== 'prepare') return gated;
    return async (...given) => {
      const statement = Object(await gated(...given));
      const { execute } = statement;
      if (typeof execute === 'function')
        statement.execute = this.#gated((...values) => execute.apply(statement, values));
      return statement;
    };
  }

  #sending(name: string, send: Method): Method {
    return this.#gated((...given) => {
      this.mayHaveCommitted ||= committing.includes(name);
      return send(...given);
    });
  }

  #gated(send: Method): Method {
    return (...given) =>
      this.#closedFor === undefined
        ? send(...given)
        : Promise.reject(new ClosedError(`the connection of ${this.#closedFor}`));
  }
}
