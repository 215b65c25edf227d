export { type EndReason, LeaseEndedError, LeaseNotHeldError } from './end-reason.js';
export type { Lease } from './lease.js';
export {
  type AcquireOptions,
  type AcquireOutcome,
  type LeaseEvents,
  Leases,
  type LeasesOptions,
  type WaitOptions,
} from './leases.js';
export type { Doubt, LeaseState } from './machine.js';
export { defaultTtlMs, type LeaseTiming, type ResolvedTiming, resolveTiming } from './options.js';
export type { RenewalReport } from './renewer.js';
