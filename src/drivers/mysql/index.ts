export type { MysqlConnection, MysqlPool, MysqlQueryable, MysqlStatement } from './client.js';
export {
  classifyMysqlError,
  deadlockCode,
  duplicateEntry,
  errnoOf,
  type MysqlPhase,
  readOnlyTransaction,
} from './errors.js';
export { quoteDatabase } from './identifiers.js';
export { MysqlPoolHandle } from './pool.js';
export {
  type Ask,
  ask,
  askOutside,
  askPlainly,
  autocommits,
  inTransaction,
  rollBackEarly,
  runTransaction,
} from './session.js';
