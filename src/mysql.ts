/**
 * A fence in a MariaDB or MySQL database: `import { mysqlFence } from 'tenure/mysql'`. Needs the package `mysql2`, 3 or
 * later.
 */
export * from './fences/mysql/index.js';
