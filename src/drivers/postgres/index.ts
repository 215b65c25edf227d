export type {
  PostgresClient,
  PostgresPool,
  PostgresQueryable,
  PostgresResult,
} from './client.js';
export {
  classifyPostgresError,
  failedTransaction,
  leftOpen,
  mentions,
  noSuchCursor,
  noTransaction,
  type PostgresPhase,
  sqlStateOf,
  takenAway,
  tellsOfLeftOpen,
} from './errors.js';
export type { Statement } from './guarded-query.js';
export { writeGuarded } from './guarded-statement.js';
export { GuestLines, isPool } from './guest-lines.js';
export { quoteLiteral, quoteSchema } from './identifiers.js';
export { refuseIfInside, refuseLeftOpen } from './left-open.js';
export type { LineEvents, Lines, ServerCheck } from './lines.js';
export { type Hearing, PostgresListener } from './listener.js';
export { lockKey, migrationLockKey } from './lock-key.js';
export {
  assertBegunNow,
  leaveMark,
  markCursor,
  markSetting,
  requireMark,
} from './marked.js';
export { type Answer, type Operation, PostgresOperations } from './operations.js';
export { OwnLines } from './own-lines.js';
export { validateUrl } from './pg-package.js';
export { PostgresPoolHandle } from './pool.js';
export { PreparedGuard } from './prepared-guard.js';
export { beginStatement, PreparedOpening } from './prepared-opening.js';
export { PreparedStatements } from './prepared-statements.js';
export { type Ask, ask, PostgresSession } from './session.js';
export { runTransaction, type TransactionSteps } from './transaction.js';
export { transactionStamp } from './watched.js';
export type { StatementAnswer } from './wire.js';
export {
  bigintType,
  type PreparedStatement,
  preparedStatement,
  textType,
} from './wire-messages.js';
