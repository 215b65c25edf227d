import { type CallOptions, type Coordinator, validateName } from '../../coordinators/index.js';
import {
  type Migration,
  migratePostgres,
  type PostgresCoordinatorOptions,
  postgresCoordinator,
} from '../../coordinators/postgres/index.js';
import { placeOf } from '../../coordinators/postgres/place.js';
import { type PostgresPool, quoteSchema } from '../../drivers/postgres/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  Adoption,
  ClaimResult,
  JobStore,
  JobStorePromises,
  JobsView,
  RunsOptions,
} from '../contract.js';
import { validateJobName } from '../job-name.js';
import type { JobDefinition, RunRecord } from '../records.js';
import { checkDefinitions, checkJobs, checkRunsOptions, checkTimeout } from '../requests.js';
import { type ClaimDecision, decideClaim } from '../rules/decisions.js';
import { SteppedJobs, type SteppedOperation } from '../rules/stepped-jobs.js';
import type { Step } from '../rules/steps.js';
import { JobDatabase } from './database.js';
import type { JobRows } from './rows.js';

export type PostgresJobStoreOptions = Pick<
  PostgresCoordinatorOptions,
  'namespace' | 'schema' | 'runtime' | 'maxConnections'
>;

export interface PostgresJobStore extends JobStore {
  /**
   * Creates the tables of the leases and of jobs, unless they are there. Safe at every start, by many processes at once.
   * Resolves with what it found, and made, of the tables of jobs.
   *
   * @throws {StoreMisconfiguredError} if the role may not create them, or a newer tenure has.
   */
  migrate(): Promise<Migration>;
}

const optionKeys: Known<PostgresJobStoreOptions> = {
  namespace: true,
  schema: true,
  runtime: true,
  maxConnections: true,
};

/**
 * Jobs and their runs in a PostgreSQL database, in the tables `jobs`, `runs` and `run_requests` of the schema of
 * {@link postgresCoordinator}, which `tenure migrate` or {@link PostgresJobStore.migrate} creates.
 *
 * Every write is one transaction, at READ COMMITTED, that commits durably, of two messages; those that wait at the same time
 * share it. A pooler in transaction mode may stand in between.
 *
 * @param urlOrPool a URL (needs the package `pg`), or your own `Pool`, which is never closed here.
 * @throws {OptionError} if it, or an option, cannot be used.
 */
export function postgresJobs(
  urlOrPool: string | URL | PostgresPool,
  options: PostgresJobStoreOptions = {},
): PostgresJobStore {
  const { source, schema } = placeOf(
    urlOrPool,
    requireKnown('options', options, optionKeys).schema,
  );
  return new JobsInPostgres(source, { ...options, schema });
}

const migrationTimeoutMs = 15_000;

/** As messages have them, before "of jobs". */
const titles: Readonly<Record<SteppedOperation, string>> = {
  write: 'a write',
  request: 'a request',
  pause: 'a pause',
  resume: 'a resumption',
  cancel: 'a cancellation',
  forget: 'a removal',
};

class JobsInPostgres extends SteppedJobs implements PostgresJobStore {
  readonly promises: JobStorePromises = { store: 'postgres', durability: 'crash' };
  readonly coordinator: Coordinator;
  readonly #source: string | PostgresPool;
  readonly #schema: string;
  readonly #runtime: Runtime;
  readonly #database: JobDatabase;
  #closing: Promise<void> | undefined;

  constructor(
    source: string | PostgresPool,
    options: PostgresJobStoreOptions & { readonly schema: string },
  ) {
    super();
    const { schema, namespace = 'default', maxConnections = 4 } = options;
    this.#source = source;
    this.#schema = schema;
    this.#runtime = requireRuntime(options.runtime);
    const quotedSchema = quoteSchema(schema);
    validateName(namespace, 'namespace');
    this.coordinator = postgresCoordinator(
      source,
      typeof source === 'string' ? options : withoutPoolSize(options),
    );
    const { runtime } = { runtime: this.#runtime };
    this.#database = new JobDatabase(source, {
      ...{ schema, quotedSchema, namespace, runtime, maxConnections },
    });
  }

  async migrate(): Promise<Migration> {
    this.#throwIfClosed();
    await migratePostgres(this.#source, { schema: this.#schema, runtime: this.#runtime });
    return await this.#database.migrate(migrationTimeoutMs);
  }

  async claim(
    token: FencingToken,
    definitions: readonly JobDefinition[],
    adoptFrom: Adoption | undefined,
    call: CallOptions,
  ): Promise<ClaimResult[]> {
    const checked = checkDefinitions(definitions);
    return this.#database.write('claim', this.#timeLimit(call), (rows) =>
      claimAll(rows, token, checked, adoptFrom),
    );
  }

  async look(jobs: readonly string[], call: CallOptions): Promise<JobsView> {
    const checked = checkJobs(jobs);
    return this.#look('a reading', call, checked);
  }

  async jobs(call: CallOptions): Promise<JobsView> {
    return this.#look('a list', call, undefined);
  }

  async runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]> {
    validateJobName(job);
    const { limit, beforeMs = Number.MAX_SAFE_INTEGER } = checkRunsOptions(options);
    const timeoutMs = this.#timeLimit(call);
    return this.#database.runs('the history', timeoutMs, { job, beforeMs, limit });
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#database.close(), this.coordinator.close()]).then(
      () => undefined,
    );
    return this.#closing;
  }

  protected async execute<Answer>(
    operation: SteppedOperation,
    step: Step<Answer>,
    call: CallOptions,
  ): Promise<Answer> {
    return this.#database.change(titles[operation], this.#timeLimit(call), step);
  }

  #look(
    operation: string,
    call: CallOptions,
    jobs: readonly string[] | undefined,
  ): Promise<JobsView> {
    return this.#database.view(operation, this.#timeLimit(call), jobs);
  }

  #timeLimit(call: CallOptions): number {
    this.#throwIfClosed();
    return checkTimeout(call);
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClosedError('this store of jobs');
  }
}

/** However many jobs there are, and however far the server is away: each statement is for all of them. */
async function claimAll(
  rows: JobRows,
  token: FencingToken,
  definitions: readonly JobDefinition[],
  adoptFrom: Adoption | undefined,
): Promise<ClaimResult[]> {
  const names = [...new Set(definitions.map(({ job }) => job))];
  await rows.place(names);
  const before = await rows.view(names);
  const unread = new Map(before.corrupt.map(({ job, error }) => [job, error]));
  const stored = new Map(before.jobs.map((view) => [view.record.job, view.record]));
  const decisions = definitions.map((definition): ClaimDecision => {
    const error = unread.get(definition.job);
    if (error !== undefined) return { outcome: 'corrupt', error };
    const known = stored.get(definition.job);
    const decision = decideClaim(known, token, definition, adoptFrom, before.nowMs);
    if (decision.outcome === 'claimed') stored.set(definition.job, decision.record);
    return decision;
  });
  const claimed = decisions.flatMap((one) => (one.outcome === 'claimed' ? [one.record] : []));
  const records = new Map(claimed.map((record) => [record.job, record]));
  await rows.putJobs([...records.values()]);
  const after = records.size === 0 ? before : await rows.view([...records.keys()]);
  const views = new Map(after.jobs.map((view) => [view.record.job, view]));
  return decisions.map((decision) => {
    if (decision.outcome !== 'claimed') return decision;
    const { job } = decision.record;
    const view = views.get(job);
    const error = after.corrupt.find((one) => one.job === job)?.error;
    if (error !== undefined) return { outcome: 'corrupt', error };
    if (view === undefined) throw new Error('a job that was just written is there');
    return { outcome: 'claimed', view };
  });
}

function withoutPoolSize(options: PostgresJobStoreOptions): PostgresCoordinatorOptions {
  const { maxConnections: _, ...rest } = options;
  return rest;
}
