import type { CallOptions, Coordinator } from '../../coordinators/index.js';
import { validateName } from '../../coordinators/index.js';
import {
  type SqliteCoordinatorOptions,
  sqliteCoordinator,
} from '../../coordinators/sqlite/index.js';
import { leaseSchema } from '../../coordinators/sqlite/schema.js';
import { SqliteSession, sqlitePath } from '../../drivers/sqlite/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
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
import { decideClaim } from '../rules/decisions.js';
import { SteppedJobs, type SteppedOperation } from '../rules/stepped-jobs.js';
import { decided, type Step } from '../rules/steps.js';
import { gathered } from '../rules/views.js';
import { JobRows } from './rows.js';

export type SqliteJobStoreOptions = Pick<
  SqliteCoordinatorOptions,
  'namespace' | 'runtime' | 'createDirectory'
>;

const optionKeys: Known<SqliteJobStoreOptions> = {
  namespace: true,
  runtime: true,
  createDirectory: true,
};

/**
 * Jobs and their runs in a file, for the processes of one machine: beside the leases of {@link sqliteCoordinator}, in the
 * tables `job`, `run` and `run_request`, which are made when the first job is claimed. Needs what that one needs.
 *
 * Every write is one transaction that is on disk before it resolves.
 *
 * @param location as for {@link sqliteCoordinator}. @throws {OptionError} if it or an option cannot be used.
 */
export function sqliteJobs(location: string | URL, options: SqliteJobStoreOptions = {}): JobStore {
  return new SqliteJobStore(location, requireKnown('options', options, optionKeys));
}

class SqliteJobStore extends SteppedJobs implements JobStore {
  readonly promises: JobStorePromises = { store: 'sqlite', durability: 'crash' };
  readonly coordinator: Coordinator;
  readonly #namespace: string;
  readonly #session: SqliteSession;

  constructor(location: string | URL, options: SqliteJobStoreOptions) {
    super();
    const { namespace = 'default', createDirectory = false } = options;
    this.#namespace = validateName(namespace, 'namespace');
    this.coordinator = sqliteCoordinator(location, options);
    this.#session = new SqliteSession({
      what: 'this store of jobs',
      path: sqlitePath(location),
      schema: leaseSchema,
      runtime: requireRuntime(options.runtime),
      createDirectory,
    });
  }

  async claim(
    token: FencingToken,
    definitions: readonly JobDefinition[],
    adoptFrom: Adoption | undefined,
    call: CallOptions,
  ): Promise<ClaimResult[]> {
    const checked = checkDefinitions(definitions);
    return this.#call('claim', 'write', call, (rows) =>
      checked.map((definition) => claimOne(rows, token, definition, adoptFrom)),
    );
  }

  async look(jobs: readonly string[], call: CallOptions): Promise<JobsView> {
    const checked = checkJobs(jobs);
    return this.#call('look', 'read', call, (rows) => viewOf(rows, checked));
  }

  async jobs(call: CallOptions): Promise<JobsView> {
    return this.#call('jobs', 'read', call, (rows) => viewOf(rows, rows.names));
  }

  async runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]> {
    validateJobName(job);
    const { limit, beforeMs = Number.MAX_SAFE_INTEGER } = checkRunsOptions(options);
    return this.#call('runs', 'read', call, (rows) => rows.runs(job, beforeMs, limit));
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.coordinator.close();
  }

  protected execute<Answer>(
    operation: SteppedOperation,
    step: Step<Answer>,
    call: CallOptions,
  ): Promise<Answer> {
    return this.#call(operation, 'write', call, (rows) => {
      const { answer, update } = decided(step, () => rows.standing(step));
      if (update !== undefined) rows.apply(step.job, update);
      return answer;
    });
  }

  #call<Answer>(
    operation: string,
    mode: 'read' | 'write',
    call: CallOptions,
    execute: (rows: JobRows) => Answer,
  ): Promise<Answer> {
    const timeoutMs = checkTimeout(call);
    return this.#session.call(operation, mode, timeoutMs, (transaction) =>
      execute(new JobRows(transaction, this.#namespace)),
    );
  }
}

function viewOf(rows: JobRows, jobs: readonly string[]): JobsView {
  return gathered(
    rows.nowMs,
    jobs.map((job) => [job, rows]),
    (job) => rows.view(job),
  );
}

/** Nothing is written of a job that cannot be read. */
function claimOne(
  rows: JobRows,
  token: FencingToken,
  definition: JobDefinition,
  adoptFrom: Adoption | undefined,
): ClaimResult {
  const { job } = definition;
  try {
    const before = rows.view(job);
    const decision = decideClaim(before?.record, token, definition, adoptFrom, rows.nowMs);
    if (decision.outcome !== 'claimed') return decision;
    const { record } = decision;
    rows.putJob(record);
    const view = before ?? rows.view(job);
    if (view === undefined) throw new Error('a job that was just written is there');
    return { outcome: 'claimed', view: { ...view, record } };
  } catch (error) {
    if (error instanceof RecordCorruptError) return { outcome: 'corrupt', error };
    throw error;
  }
}
