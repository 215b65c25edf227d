/**
 * The slice of `mysql2/promise` that tenure calls. Structural, so that any version from 3 on fits, as does whatever wraps
 * it and keeps these methods.
 */

/** One statement, with what it needs whatever the options of the user's pool are. */
export interface MysqlStatement {
  readonly sql: string;
  readonly values?: string[];
  readonly rowsAsArray: false;
  readonly nestTables: false;
  readonly typeCast: true;
}

/** A connection, usually inside a transaction. */
export interface MysqlQueryable {
  query(statement: MysqlStatement): Promise<[unknown, unknown]>;
  execute(statement: MysqlStatement): Promise<[unknown, unknown]>;
}

/** A connection checked out of a pool. */
export interface MysqlConnection extends MysqlQueryable {
  /** Gives the connection back. */
  release(): void;
  /** Closes it. */
  destroy(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
}

export interface MysqlPool<Connection extends MysqlConnection = MysqlConnection> {
  getConnection(): Promise<Connection>;
}
