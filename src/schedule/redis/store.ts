import type { CallOptions } from '../../coordinators/index.js';
import {
  checkReplicas,
  type DuplicableRedisClient,
  type RedisCoordinator,
  type RedisCoordinatorOptions,
  RedisWrites,
  redisCoordinator,
} from '../../coordinators/redis/index.js';
import { RedisSession } from '../../drivers/redis/index.js';
import { requireObject } from '../../errors/checks.js';
import { RecordCorruptError, UnreachableError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
import type {
  Adoption,
  ClaimResult,
  CorruptJob,
  JobStore,
  JobStorePromises,
  JobsView,
  JobView,
  RunsOptions,
} from '../contract.js';
import { validateJobName } from '../job-name.js';
import type { JobDefinition, RunRecord } from '../records.js';
import { checkDefinitions, checkJobs, checkRunsOptions, checkTimeout } from '../requests.js';
import { decideClaim } from '../rules/decisions.js';
import { SteppedJobs, type SteppedOperation } from '../rules/stepped-jobs.js';
import { decided, type JobUpdate, type Step } from '../rules/steps.js';
import { gathered } from '../rules/views.js';
import { listOf, RedisJobKeys } from './keys.js';
import {
  argumentsOf,
  revisionOf,
  runsOf,
  type StoredJob,
  standingOf,
  storedJob,
  viewOf,
} from './rows.js';
import { forgetScript, lookScript, namesScript, runsScript, writeScript } from './scripts.js';

export type RedisJobStoreOptions = RedisCoordinatorOptions;

export interface RedisJobStore extends JobStore {
  /** Its events tell of the server that jobs and leases share. */
  readonly coordinator: RedisCoordinator;
}

/** What the server keeps depends on its configuration, so this names the settings instead of a promise of our own. */
const durability =
  'What the server keeps: every acknowledged write with appendfsync always; all but about the last second with everysec; nothing over a restart without a file. A fail-over forgets what its replica did not have, unless `replicas` are waited for.';

/**
 * Jobs and their runs on Redis (7.0 or later), beside the leases of {@link redisCoordinator} with the same source and
 * options, which are passed on to it. All keys of a namespace share one hash tag, so that a cluster will do as well.
 *
 * A run that the server has forgotten is not known to have begun: its tick runs once more. See
 * {@link RedisCoordinatorOptions.replicas}, and the persistence of the server.
 *
 * @param urlOrClient as for {@link redisCoordinator}.
 * @throws {OptionError} if it, or an option, cannot be used.
 */
export function redisJobs(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisJobStoreOptions = {},
): RedisJobStore {
  return new JobsInRedis(urlOrClient, requireObject('options', options));
}

/** What is to be done about a job, after a look at it. */
interface Change<Answer> {
  readonly update?: JobUpdate | undefined;
  /** Gets what stands there once it is written. */
  readonly answer: (written: JobView | undefined) => Answer;
}

/** Of so many jobs, one script tells. */
const mostAtOnce = 500;

class JobsInRedis extends SteppedJobs implements RedisJobStore {
  readonly promises: JobStorePromises = { store: 'redis', durability };
  readonly coordinator: RedisCoordinator;
  readonly #keys: RedisJobKeys;
  readonly #session: RedisSession;
  readonly #writes: RedisWrites;

  constructor(urlOrClient: string | URL | DuplicableRedisClient, options: RedisJobStoreOptions) {
    super();
    this.#keys = new RedisJobKeys(options.namespace ?? 'default');
    this.coordinator = redisCoordinator(urlOrClient, options);
    const { sentinelUsername, sentinelPassword, nodeAddressMap } = options;
    this.#session = new RedisSession('the Redis store of jobs', urlOrClient, {
      ...{ sentinelUsername, sentinelPassword, nodeAddressMap },
      runtime: options.runtime,
      connectTimeoutMs: options.connectTimeoutMs,
      slotKey: this.#keys.names,
    });
    this.#writes = new RedisWrites(this.#session, checkReplicas(options));
  }

  async claim(
    token: FencingToken,
    definitions: readonly JobDefinition[],
    adoptFrom: Adoption | undefined,
    call: CallOptions,
  ): Promise<ClaimResult[]> {
    const checked = checkDefinitions(definitions);
    const claims = checked.map((definition) =>
      this.#change<ClaimResult>(definition.job, undefined, call, (read) => {
        const { view, nowMs } = read();
        const decision = decideClaim(view?.record, token, definition, adoptFrom, nowMs);
        if (decision.outcome !== 'claimed') return { answer: () => decision };
        const { record } = decision;
        return { update: { record }, answer: (written) => claimedAs(written) };
      }),
    );
    const answers = claims.map((claim) => claim.catch(asCorrupt));
    await Promise.allSettled(answers);
    return await Promise.all(answers);
  }

  async look(jobs: readonly string[], call: CallOptions): Promise<JobsView> {
    const checked = checkJobs(jobs);
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    return await this.#look(checked, this.#session.connection.budget(timeoutMs));
  }

  async jobs(call: CallOptions): Promise<JobsView> {
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    const { connection } = this.#session;
    const leftMs = connection.budget(timeoutMs);
    const { names: key } = this.#keys;
    const names = await connection.run(namesScript, [key], [], timeoutMs);
    if (!Array.isArray(names))
      throw new RecordCorruptError(`what stands under "${key}" is not the list of jobs.`);
    return await this.#look(names.map(String).sort(), leftMs);
  }

  async runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]> {
    const keys = this.#keys.job(validateJobName(job));
    const { limit, beforeMs } = checkRunsOptions(options);
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    const range = [beforeMs === undefined ? '+inf' : `(${beforeMs}`, limit];
    const { connection } = this.#session;
    const reply = await connection.run(runsScript, listOf(keys), range, timeoutMs);
    return runsOf(keys, reply).slice(0, limit);
  }

  async close(): Promise<void> {
    await Promise.all([this.#session.close(), this.coordinator.close()]);
  }

  protected execute<Answer>(
    _operation: SteppedOperation,
    step: Step<Answer>,
    call: CallOptions,
  ): Promise<Answer> {
    const { job, id } = step;
    return this.#change<Answer>(job, id, call, (read) => {
      const { answer, update } = decided(step, () => standingOf(read(), id));
      return { update, answer: () => answer };
    });
  }

  /**
   * Looks, decides and writes, anew whenever somebody else has written in between. Each time that happens another write has
   * gone through.
   *
   * @param wanted the id of a run that is read beside the job.
   */
  async #change<Answer>(
    job: string,
    wanted: string | undefined,
    call: CallOptions,
    decide: (read: () => StoredJob) => Change<Answer>,
  ): Promise<Answer> {
    const timeoutMs = checkTimeout(call);
    this.#session.throwIfClosed();
    const keys = this.#keys.job(job);
    const leftMs = this.#session.connection.budget(timeoutMs);
    for (;;) {
      const look = [wanted ?? ''];
      // Confirmed, too: an answer for which nothing is written says what is there for good.
      const reply = await this.#writes.run(lookScript, listOf(keys), look, inTime(job, leftMs()));
      const [nowMs, found] = reply as [string, unknown];
      const read = () => storedJob(keys, found, Number(nowMs));
      const { answer, update } = decide(read);
      if (update === undefined) return answer(undefined);
      const all = [this.#keys.names, ...listOf(keys)];
      const [script, args] = update.forgets
        ? ([forgetScript, [revisionOf(found), job]] as const)
        : ([writeScript, argumentsOf(read(), update)] as const);
      const written = await this.#writes.run(script, all, args, inTime(job, leftMs()));
      if (written === 'changed') continue;
      return answer(viewOf(keys, written, Number(nowMs)));
    }
  }

  async #look(jobs: readonly string[], leftMs: () => number): Promise<JobsView> {
    const { connection } = this.#session;
    const views: JobView[] = [];
    const corrupt: CorruptJob[] = [];
    let nowMs = 0;
    let next = 0;
    do {
      const some = jobs.slice(next, next + mostAtOnce).map((job) => this.#keys.job(job));
      const wanted = some.map(() => '');
      const reply = await connection.run(lookScript, some.flatMap(listOf), wanted, leftMs());
      const [time, ...found] = reply as [string, ...unknown[]];
      nowMs = Number(time);
      const seen = gathered(
        nowMs,
        some.map((keys, index) => [jobs[next + index] ?? '', { keys, found: found[index] }]),
        (_, one) => storedJob(one.keys, one.found, nowMs).view,
      );
      views.push(...seen.jobs);
      corrupt.push(...seen.corrupt);
      next += mostAtOnce;
    } while (next < jobs.length);
    return { nowMs, jobs: views, corrupt };
  }
}

/** @throws every other error. */
function asCorrupt(error: unknown): ClaimResult {
  if (error instanceof RecordCorruptError) return { outcome: 'corrupt', error };
  throw error;
}

function claimedAs(view: JobView | undefined): ClaimResult {
  if (view === undefined) throw new Error('a job that was just written is there');
  return { outcome: 'claimed', view };
}

/** @throws {UnreachableError} if no time is left: nothing of this write was executed. */
function inTime(job: string, leftMs: number): number {
  if (leftMs > 0) return leftMs;
  throw new UnreachableError(
    `the job "${job}" was not written: others wrote it again and again, until the time was over. Try again.`,
  );
}
