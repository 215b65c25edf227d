export type { DuplicableRedisClient, RedisFacts } from '../../drivers/redis/index.js';
/* For the quorum, whose nodes keep what a single server keeps: the same keys, texts and scripts. */
export {
  answerAcquire,
  answerEnd,
  answerRenew,
  badCandidates,
  badDocument,
  badHistory,
  badRecord,
  badSuspension,
  badSuspensions,
  foreign,
} from './answers.js';
export { acquireCall, endCall, whole } from './arguments.js';
export { describe, type EnrollReply, parseCall, parseTable } from './candidates.js';
export {
  type RedisCoordinator,
  type RedisCoordinatorEvents,
  type RedisCoordinatorOptions,
  redisCoordinator,
} from './coordinator.js';
export { parseLine } from './history.js';
export { locate, notIndexed, RedisKeys } from './keys.js';
export { indexRefreshTtls, indexTtls, termLifeMs } from './limits.js';
export { parseOwnRecord, parseRecord } from './record.js';
export { RenewalLocator, renewCall } from './renewals.js';
export { derived } from './scripts/derived.js';
export { histories } from './scripts/histories.js';
export {
  acquireScript,
  candidatesScript,
  endScript,
  enrollScript,
  historyScript,
  membersScript,
  readScript,
  renewScript,
  resumeScript,
  revokeScript,
  suspendScript,
  withdrawScript,
} from './scripts/index.js';
export { indexes } from './scripts/indexes.js';
export { records } from './scripts/records.js';
export { encodeWords } from './words.js';
export { checkReplicas, RedisWrites } from './writes.js';
