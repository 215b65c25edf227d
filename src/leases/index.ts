export type { AcquireOutcome } from './acquisition.js';
export type { EndReason, LossAtStore } from './end-reason.js';
export type { Enrollment, EnrollOptions } from './enrollment.js';
export type { Lease } from './lease.js';
export { LeaseEndedError, LeaseNotHeldError } from './lease-errors.js';
export {
  type LeaseEvents,
  Leases,
  type LeasesOptions,
} from './leases.js';
export type { Doubt, LeaseState } from './machine.js';
export { defaultTtlMs, type LeaseTiming, type ResolvedTiming, resolveTiming } from './options.js';
export type { AcquireOptions, Particulars } from './particulars.js';
export type { RenewalReport } from './renewer.js';
export type { RenewalOptions } from './thread/options.js';
export type { WaitOptions } from './waits.js';
