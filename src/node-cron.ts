/**
 * One replica for each run of a `distributed` task of the package `node-cron`:
 * `import { nodeCronCoordinator } from 'tenure/node-cron'`.
 */
export * from './adapters/node-cron/index.js';
