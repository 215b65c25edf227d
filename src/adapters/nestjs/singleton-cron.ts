import { SetMetadata } from '@nestjs/common';
import { type Known, requireKnown } from '../../errors/checks.js';
import { jobKeys } from '../../schedule/definition.js';
import type { JobOptions } from '../../schedule/index.js';

import { requireExperimentalDecorators } from './decorators.js';

/** Where the options of a method stand. */
export const jobMetadata = 'tenure:job';

export interface SingletonCronOptions extends Omit<JobOptions, 'cron'> {
  /** The name of the job, the same in all replicas and for ever. Default `<class>.<method>`. */
  readonly name?: string;
}

const { cron: _, ...timeless } = jobKeys;
const optionKeys: Known<SingletonCronOptions> = { ...timeless, name: true };

export interface JobMetadata {
  readonly cron: string;
  readonly options: SingletonCronOptions;
}

/**
 * A method of a provider that runs once per tick in the whole fleet: a job of the schedule of `TenureModule`. It is called
 * with what the work of a job gets (`RunContext`): take `run.id` for the idempotency key of what it does elsewhere, and
 * `lease` for a fence.
 *
 * Not for providers of request scope, of which there is none when a tick is due.
 */
export function SingletonCron(cron: string, options: SingletonCronOptions = {}): MethodDecorator {
  const metadata: JobMetadata = { cron, options: requireKnown('options', options, optionKeys) };
  const mark = SetMetadata(jobMetadata, metadata);
  return (target, key, descriptor) => {
    requireExperimentalDecorators('@SingletonCron()', target, key);
    return mark(target, key, descriptor);
  };
}
