export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from './client.js';
export {
  classifyPostgresError,
  leftOpen,
  noTransaction,
  type PostgresPhase,
  sqlStateOf,
} from './errors.js';
export { GuestLines, isPool } from './guest-lines.js';
export { quoteLiteral, quoteSchema } from './identifiers.js';
export { refuseIfInside, refuseLeftOpen } from './left-open.js';
export type { LineEvents, Lines, ServerCheck } from './lines.js';
export { type Hearing, PostgresListener } from './listener.js';
export { lockKey, migrationLockKey } from './lock-key.js';
export { type Answer, type Operation, PostgresOperations } from './operations.js';
export { OwnLines } from './own-lines.js';
export { validateUrl } from './pg-package.js';
export { PostgresPoolHandle } from './pool.js';
export {
  type Ask,
  ask,
  assertBegunNow,
  markCursor,
  markSetting,
  PostgresSession,
  runTransaction,
  type TransactionSteps,
} from './session.js';
