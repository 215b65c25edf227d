export type {
  MysqlConnection,
  MysqlPool,
  MysqlQueryable,
  MysqlStatement,
} from '../../drivers/mysql/index.js';
export { type MysqlFence, mysqlFence } from './fence.js';
export type { MysqlFenceOptions } from './options.js';
export { migrationSql } from './statements.js';
