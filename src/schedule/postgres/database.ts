import type { Migration } from '../../coordinators/postgres/index.js';
import {
  ask,
  migrationLockKey,
  type PostgresClient,
  type PostgresPool,
  PostgresPoolHandle,
  runTransaction,
  sqlStateOf,
} from '../../drivers/postgres/index.js';
import { StoreMisconfiguredError, UnreachableError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { type AskRows, JobRows } from './rows.js';
import {
  createTables,
  type JobStatements,
  jobStatements,
  readVersion,
  schemaVersion,
} from './schema.js';

export interface DatabaseOptions {
  readonly schema: string;
  readonly quotedSchema: string;
  readonly namespace: string;
  readonly runtime: Runtime;
  readonly maxConnections: number;
}

/** The server's own limits: a process that is stopped inside a transaction holds its locks no longer than that. */
function limits(timeoutMs: number): string {
  const limitMs = Math.ceil(timeoutMs);
  const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
  return names.map((name) => `SET LOCAL ${name} = ${limitMs}`).join('; ');
}

/** Raises, never lowers. */
const commitDurably = `SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`;

/** `undefined_table` and `invalid_schema_name`. */
const missing = ['42P01', '3F000'];

/** Transactions on the tables of jobs, each within a time limit. */
export class JobDatabase {
  readonly #options: DatabaseOptions;
  readonly #pool: PostgresPoolHandle<PostgresClient>;
  readonly #statements: JobStatements;

  constructor(source: string | PostgresPool, options: DatabaseOptions) {
    this.#options = options;
    this.#statements = jobStatements(options.quotedSchema);
    this.#pool = new PostgresPoolHandle(source, {
      runtime: options.runtime,
      maxConnections: options.maxConnections,
      timeoutMs: 5_000,
      // Set for each transaction instead: a pooler in between refuses settings that come with the connection.
      ...{ statementTimeoutMs: 0, lockTimeoutMs: 0, idleInTransactionTimeoutMs: 0 },
    });
  }

  /** What changes nothing. The server ends it as well: nobody who gave up leaves a backend that waits. */
  read<Answer>(
    operation: string,
    timeoutMs: number,
    use: (rows: JobRows) => Promise<Answer>,
  ): Promise<Answer> {
    const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${limits(timeoutMs)}`;
    return this.#transact(operation, begin, timeoutMs, use);
  }

  /**
   * One transaction, committed durably. The server ends it as well: a process that is stopped inside it holds its locks no
   * longer than the time limit.
   */
  write<Answer>(
    operation: string,
    timeoutMs: number,
    use: (rows: JobRows) => Promise<Answer>,
  ): Promise<Answer> {
    const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${commitDurably}; ${limits(timeoutMs)}`;
    return this.#transact(operation, begin, timeoutMs, use);
  }

  #transact<Answer>(
    operation: string,
    begin: string,
    timeoutMs: number,
    use: (rows: JobRows) => Promise<Answer>,
  ): Promise<Answer> {
    const what = `${operation} of jobs`;
    const { runtime } = this.#options;
    const endMs = this.#nowMs() + timeoutMs;
    return this.#explained(
      this.#pool.withSession(what, async (session) => {
        // Others had all connections for so long. This one is as good as it was.
        if (this.#nowMs() >= endMs) {
          session.end(true);
          throw new UnreachableError(`${what} was not sent: no connection was free in time.`);
        }
        return await runTransaction(
          session,
          { begin, ask: { runtime, timeoutMs, what } },
          (client) => use(this.#rows(this.#asking(client, what, endMs, timeoutMs))),
        );
      }),
    );
  }

  async migrate(timeoutMs: number): Promise<Migration> {
    const { quotedSchema, schema, runtime } = this.#options;
    const what = `the migration of jobs in schema "${schema}"`;
    const own = { runtime, timeoutMs, what };
    const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on';
    return await this.#pool.withSession(what, (session) =>
      runTransaction(session, { begin, ask: own }, async (client) => {
        const asking = { ...own, phase: 'transaction' } as const;
        await ask(client, asking, 'SELECT pg_advisory_xact_lock($1)', [migrationLockKey]);
        const { rows } = await ask<{ version: number }>(client, asking, readVersion(quotedSchema));
        const version = rows[0]?.version ?? 0;
        if (version > schemaVersion) throw tooNew(schema, version);
        if (version === 0) await ask(client, asking, createTables(quotedSchema));
        return { from: version, to: schemaVersion };
      }),
    );
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #rows(asking: AskRows): JobRows {
    return new JobRows(asking, this.#statements, this.#options.namespace);
  }

  #asking(client: PostgresClient, what: string, endMs: number, wholeMs: number): AskRows {
    const { runtime } = this.#options;
    const phase = 'transaction';
    return async <Row extends object>(text: string, values: unknown[]) => {
      const timeoutMs = Math.max(1, endMs - this.#nowMs());
      const asking = { runtime, timeoutMs, wholeMs, phase, what } as const;
      const { rows } = await ask<Row>(client, asking, text, values);
      return rows;
    };
  }

  async #explained<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } catch (error) {
      const state =
        sqlStateOf(error instanceof Error ? error.cause : undefined) ?? sqlStateOf(error);
      if (state === undefined || !missing.includes(state)) throw error;
      throw new StoreMisconfiguredError(
        `the tables of jobs are not in schema "${this.#options.schema}": run "tenure migrate" with a role that may create them, or call migrate() of the store.`,
        error,
      );
    }
  }

  #nowMs(): number {
    return this.#options.runtime.now().monotonicMs;
  }
}

function tooNew(schema: string, version: number): StoreMisconfiguredError {
  return new StoreMisconfiguredError(
    `a newer tenure has migrated the jobs in schema "${schema}" (version ${version}; this one knows ${schemaVersion}). Upgrade tenure here.`,
  );
}
