import { validateName } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';

/** With the name of its schedule before it, it has to be the name of an election. */
export const longestJobNameBytes = 100;

/** The name of a job is one segment, so that it can be the last one of an election's. @throws {OptionError} */
export function validateJobName(job: string): string {
  validateName(job, 'job');
  if (!job.includes('/') && Buffer.byteLength(job) <= longestJobNameBytes) return job;
  const remedy = `use 1 to ${longestJobNameBytes} bytes without a slash`;
  throw new OptionError('job', job, 'is not the name of a job', remedy);
}
