export {
  type BalanceMember,
  type BalancePlan,
  type BalanceShard,
  balance,
  type MemberState,
  type ShardClaim,
  type ShardMove,
} from './balance.js';
export type {
  FailedStep,
  PlanSummary,
  ReleaseCause,
  ShardWorkerEvents,
} from './events.js';
export { MemberIdTakenError } from './members.js';
export type { ShardPins, ShardWorkerOptions } from './options.js';
export { extraShardLimit, type Pin, PinTable, pinLimit } from './pin-table.js';
export { Pins, type PinsOptions } from './pins.js';
export {
  defaultShardCount,
  largestShardCount,
  longestKeyBytes,
  shardOf,
  validateKey,
  validateShardCount,
} from './shard-of.js';
export type { Takeover } from './takeovers.js';
export {
  memberLeaseName,
  type OwnedShard,
  type RefusedShard,
  type ShardWork,
  shardLeaseName,
} from './work.js';
export { type ShardOwnership, ShardWorker } from './worker.js';
