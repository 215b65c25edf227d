import type { Migration } from '../../coordinators/postgres/index.js';
import {
  ask,
  migrationLockKey,
  type PostgresClient,
  type PostgresPool,
  PostgresPoolHandle,
  type PostgresSession,
  quoteLiteral,
  runTransaction,
  sqlStateOf,
} from '../../drivers/postgres/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { Runtime } from '../../time/index.js';
import type { JobsView } from '../contract.js';
import type { RunRecord } from '../records.js';
import type { Step } from '../rules/steps.js';
import { decodeRun } from '../rules/texts.js';
import { ChangeQueue } from './change-queue.js';
import { ChangeTexts } from './changes.js';
import { askTogether, beginning } from './messages.js';
import { type AskRows, JobRows, type ViewAnswer, viewOf } from './rows.js';
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
const durableCommit = `SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`;

/** `undefined_table` and `invalid_schema_name`. */
const missing = ['42P01', '3F000'];

/** Transactions on the tables of jobs, each within a time limit. */
export class JobDatabase {
  readonly #options: DatabaseOptions;
  readonly #pool: PostgresPoolHandle<PostgresClient>;
  readonly #statements: JobStatements;
  readonly #changes: ChangeQueue;
  /** As it stands in SQL. */
  readonly #namespace: string;

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
    const { runtime, namespace, maxConnections, quotedSchema } = options;
    this.#namespace = quoteLiteral(namespace);
    this.#changes = new ChangeQueue({
      ...{ runtime, pool: this.#pool, texts: new ChangeTexts(quotedSchema, namespace) },
      // One is left for who looks, and for claims.
      limit: Math.max(1, maxConnections - 1),
      begin: (timeoutMs) => beginning('READ COMMITTED', [durableCommit, limits(timeoutMs)]),
      explained: (error) => this.#explanation(error),
    });
  }

  /** What stands of jobs, in one message. @param jobs `undefined`: of all. */
  async view(
    operation: string,
    timeoutMs: number,
    jobs: readonly string[] | undefined,
  ): Promise<JobsView> {
    const names = jobs === undefined ? 'NULL' : `ARRAY[${jobs.map(quoteLiteral).join(', ')}]`;
    const text = this.#statements.view(this.#namespace, `(${names}::text[])`);
    const [answer] = await this.#read<ViewAnswer>(operation, timeoutMs, text);
    return viewOf(answer, jobs);
  }

  async runs(
    operation: string,
    timeoutMs: number,
    { job, beforeMs, limit }: { job: string; beforeMs: number; limit: number },
  ): Promise<RunRecord[]> {
    const text = this.#statements.runs(this.#namespace, quoteLiteral(job), beforeMs, limit);
    const rows = await this.#read<{ record: string }>(operation, timeoutMs, text);
    return rows.map(({ record }) => decodeRun(record, job));
  }

  /** One step of one job, committed durably; see {@link ChangeQueue}. */
  change<Answer>(operation: string, timeoutMs: number, step: Step<Answer>): Promise<Answer> {
    return this.#changes.add(`${operation} of jobs`, timeoutMs, step);
  }

  /** What changes nothing. The server ends it as well: nobody who gave up leaves a backend that waits. */
  async #read<Row extends object>(
    operation: string,
    timeoutMs: number,
    text: string,
  ): Promise<Row[]> {
    const begin = beginning('READ COMMITTED, READ ONLY', [limits(timeoutMs)]);
    return await this.#inTime(operation, timeoutMs, async (session, leftMs, what) => {
      const { runtime } = this.#options;
      const own = {
        runtime,
        timeoutMs: leftMs(),
        wholeMs: timeoutMs,
        phase: 'read',
        what,
      } as const;
      const answers = await askTogether(session, own, [begin, text, 'COMMIT']);
      session.end(true);
      return answers.at(-2) as Row[];
    });
  }

  /**
   * One transaction of several questions, committed durably. The server ends it as well: a process that is stopped inside it
   * holds its locks no longer than the time limit.
   */
  async write<Answer>(
    operation: string,
    timeoutMs: number,
    use: (rows: JobRows) => Promise<Answer>,
  ): Promise<Answer> {
    const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${durableCommit}; ${limits(timeoutMs)}`;
    return await this.#inTime(operation, timeoutMs, (session, leftMs, what) => {
      const { runtime, namespace } = this.#options;
      return runTransaction(session, { begin, ask: { runtime, timeoutMs, what } }, (client) => {
        const asking: AskRows = async <Row extends object>(text: string, values: unknown[]) => {
          const own = { runtime, timeoutMs: leftMs(), wholeMs: timeoutMs, what };
          const asked = { ...own, phase: 'transaction' } as const;
          return (await ask<Row>(client, asked, text, values)).rows;
        };
        return use(new JobRows(asking, this.#statements, namespace));
      });
    });
  }

  #inTime<Answer>(
    operation: string,
    timeoutMs: number,
    use: (
      session: PostgresSession<PostgresClient>,
      leftMs: () => number,
      what: string,
    ) => Promise<Answer>,
  ): Promise<Answer> {
    const what = `${operation} of jobs`;
    const endMs = this.#nowMs() + timeoutMs;
    return this.#explained(
      this.#pool.withSession(what, async (session) => {
        // Others had all connections for so long. This one is as good as it was.
        if (this.#nowMs() >= endMs) {
          session.end(true);
          throw unreachable('timeout', `${what} was not sent: no connection was free in time.`);
        }
        return await use(session, () => Math.max(1, endMs - this.#nowMs()), what);
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

  async #explained<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } catch (error) {
      throw this.#explanation(error);
    }
  }

  #explanation(error: unknown): unknown {
    const state = sqlStateOf(error instanceof Error ? error.cause : undefined) ?? sqlStateOf(error);
    if (state === undefined || !missing.includes(state)) return error;
    return new StoreMisconfiguredError(
      `the tables of jobs are not in schema "${this.#options.schema}": run "tenure migrate" with a role that may create them, or call migrate() of the store.`,
      error,
    );
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
