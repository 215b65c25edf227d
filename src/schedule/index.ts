export type {
  Adoption,
  Cancelling,
  CancelResult,
  ClaimResult,
  ClockBack,
  CorruptJob,
  ForgetResult,
  JobChange,
  JobStore,
  JobStorePromises,
  JobsView,
  JobView,
  RunCancellation,
  RunsOptions,
  WriteResult,
} from './contract.js';
export { CronTimes } from './cron.js';
export type { JobOptions, RetryOptions } from './definition.js';
export { JobInUseError, JobUnknownError, RunCancelledError, RunTimeoutError } from './errors.js';
export type { ScheduleEvents } from './events.js';
export type { JobLeadership, JobListing } from './job-listing.js';
export { validateJobName } from './job-name.js';
export { type HistoryOptions, Jobs, type JobsOptions, requireJobStore } from './jobs.js';
export type {
  JobDefinition,
  JobPause,
  JobRecord,
  RunKind,
  RunRecord,
  RunRequest,
  RunState,
} from './records.js';
export { tickRunId } from './records.js';
export type { Misfire, SkippedTicks } from './rules/due.js';
export { Schedule, type ScheduleOptions, schedule } from './schedule.js';
export type { JobRun, JobWork, Progress, RunContext } from './work.js';
