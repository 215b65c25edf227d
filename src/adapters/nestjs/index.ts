export { LeaderOnly } from './leader-only.js';
export {
  TenureModule,
  type TenureModuleAsyncOptions,
  type TenureModuleOptions,
  tenureSchedule,
} from './module.js';
export { SingletonCron, type SingletonCronOptions } from './singleton-cron.js';
