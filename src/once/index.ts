export type { Effect, EffectContext } from './attempt.js';
export type * from './contract.js';
export {
  EffectSupersededError,
  EffectTimeoutError,
  EffectUnderWayError,
  EffectUnknownError,
  EffectUnrecordedError,
  NotAppliedError,
  notApplied,
  ResultNotKeptError,
} from './errors.js';
export type { OnceEvents } from './events.js';
export { Once, type SettleOptions } from './once.js';
export type { EffectOptions, OnceOptions, UnknownDecision } from './options.js';
export type { OnceAttemptRef, OnceRecord, OnceSettlement, OnceState } from './records.js';
