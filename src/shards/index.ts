export {
  type BalanceMember,
  type BalancePlan,
  type BalanceShard,
  balance,
  type MemberState,
  type ShardClaim,
  type ShardMove,
} from './balance.js';
export {
  defaultShardCount,
  largestShardCount,
  longestKeyBytes,
  shardOf,
  validateShardCount,
} from './shard-of.js';
export { memberLeaseName, type OwnedShard, type ShardWork, shardLeaseName } from './work.js';
