export { memberLeaseName, type OwnedShard, type ShardWork, shardLeaseName } from './work.js';
