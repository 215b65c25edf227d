/**
 * The slice of the `pg` package that tenure calls. Structural, so that any version from 8 on fits, as does whatever
 * wraps it and keeps these methods.
 */

export interface PostgresResult<Row> {
  readonly rows: Row[];
  readonly rowCount: number | null;
}

/** Something that runs one statement at a time: a client, usually inside a transaction. */
export interface PostgresQueryable {
  /** As newer clients of `pg` have it: `I` while no transaction is open. */
  getTransactionStatus?(): string | null;
  query<Row extends object>(text: string, values?: unknown[]): Promise<PostgresResult<Row>>;
}

/** A client checked out of a pool. */
export interface PostgresClient extends PostgresQueryable {
  /** Gives the client back; `true` closes its connection instead. */
  release(destroy?: boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PostgresPool<Client extends PostgresClient = PostgresClient> {
  connect(): Promise<Client>;
}
