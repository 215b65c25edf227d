import { type Act, checkTimeout } from '../coordinators/index.js';
import { checkAct, requireAct } from '../coordinators/requests.js';
import { requireArray, requireObject, requireWhole } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { RunsOptions } from './contract.js';
import { validateJobName } from './job-name.js';
import type { JobDefinition, RunRequest } from './records.js';

/*
 * What every store checks before it sends anything, so that all refuse the same.
 */

export { checkTimeout };

/** @throws {OptionError} */
export function checkJobs(jobs: readonly string[]): string[] {
  return requireArray('jobs', jobs, 'pass the names of the jobs').map(validateJobName);
}

/** @throws {OptionError} */
export function checkDefinitions(definitions: readonly JobDefinition[]): JobDefinition[] {
  return requireArray('definitions', definitions, 'pass the jobs to claim').map((definition) => ({
    ...definition,
    job: validateJobName(definition.job),
  }));
}

/** @throws {OptionError} */
export function checkRunsOptions(options: RunsOptions): RunsOptions {
  const { limit, beforeMs } = requireObject('options', options);
  requireWhole('limit', limit, 1, mostRuns);
  if (beforeMs !== undefined && !Number.isSafeInteger(beforeMs)) {
    throw new OptionError('beforeMs', beforeMs, 'is no time', 'use a Unix time in milliseconds');
  }
  return { limit, ...(beforeMs !== undefined && { beforeMs }) };
}

/** So many runs are read at once, at most. */
export const mostRuns = 1_000;

/** @throws {OptionError} */
export function checkRequest(request: Omit<RunRequest, 'atMs'>): Omit<RunRequest, 'atMs'> {
  const { id, job, by, reason } = requireObject('request', request);
  checkAct({ by, reason });
  return { id: checkRunId(id), job: validateJobName(job), by, reason };
}

/** @throws {OptionError} */
export function checkRunId(id: string): string {
  if (
    typeof id === 'string' &&
    id.length > 0 &&
    Buffer.byteLength(id) <= 255 &&
    !/[\p{Cc}\p{Cs}]/u.test(id)
  )
    return id;
  throw new OptionError(
    'run',
    id,
    'is not the id of a run',
    'pass the id that a run is listed with',
  );
}

/** A copy, checked. @throws {OptionError} */
export function checkedAct(act: Act): Act {
  const { by, reason } = checkAct(requireAct(act));
  return { by, reason };
}
