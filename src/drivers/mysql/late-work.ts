import { ClosedError } from '../../errors/index.js';
import type { MysqlConnection } from './client.js';

/** What sends something, and what gives the connection back or closes it. */
const sending = ['query', 'execute', 'prepare', 'beginTransaction', 'commit', 'rollback', 'ping'];
const resetting = ['reset', 'changeUser', 'end'];
const ending = ['release', 'destroy'];

/** A connection that is closed to work, as ours. */
export type ClosedConnection = Pick<MysqlConnection, 'query' | 'execute' | 'release' | 'destroy'>;

/** Objects that came from their pool again after they had been closed here, so that they are not of one checkout. */
const comingBack = new WeakSet<object>();
/** What was replaced on an object that is closed: its own properties as they were, or that it had none. */
const closed = new WeakMap<object, Map<string, PropertyDescriptor | undefined>>();

/**
 * Closes a connection to work that goes on unawaited: what that sends would be outside of its transaction, and on a
 * connection that somebody else may have by then. Only where the pool makes an object for each checkout, as `mysql2/promise`
 * does: another one belongs to whoever has it next.
 *
 * It can be neither given back nor closed by work, either: our commit may be under way on it.
 *
 * @returns what does all that all the same; `undefined` if it stays open.
 */
export function closeToWork(
  connection: MysqlConnection,
  what: string,
): ClosedConnection | undefined {
  if (!isOfOneCheckout(connection)) return undefined;
  const { query, execute, release, destroy } = connection;
  const refuse = async () => {
    throw new ClosedError(`the connection of ${what}`);
  };
  closed.set(connection, new Map());
  replace(connection, [...sending, ...resetting], refuse);
  replace(connection, ending, () => {});
  return {
    query: (statement) => query.call(connection, statement),
    execute: (statement) => execute.call(connection, statement),
    release: () => release.call(connection),
    destroy: () => destroy.call(connection),
  };
}

/** For a connection that comes from its pool. */
export function openToWork(connection: MysqlConnection): void {
  const replaced = closed.get(connection);
  if (replaced === undefined) return;
  closed.delete(connection);
  comingBack.add(connection);
  for (const [name, own] of replaced) {
    Reflect.deleteProperty(connection, name);
    if (own !== undefined) Object.defineProperty(connection, name, own);
  }
}

function isOfOneCheckout(connection: MysqlConnection): boolean {
  const { constructor: kind } = Object(connection);
  return kind?.name === 'PromisePoolConnection' && !comingBack.has(connection);
}

function replace(connection: object, names: readonly string[], value: () => unknown): void {
  for (const name of names) {
    if (typeof Reflect.get(connection, name) !== 'function') continue;
    closed.get(connection)?.set(name, Reflect.getOwnPropertyDescriptor(connection, name));
    Object.defineProperty(connection, name, { value, configurable: true, writable: true });
  }
}
