export type { EtcdTlsOptions } from '../../drivers/etcd/index.js';
export {
  type EtcdCoordinator,
  type EtcdCoordinatorEvents,
  type EtcdCoordinatorOptions,
  etcdCoordinator,
} from './coordinator.js';
export { checkPrefix, EtcdKeys } from './keys.js';
export { leaderOf, viewOf } from './view.js';
