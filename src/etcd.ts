/** Leases on an etcd cluster: `import { etcdCoordinator } from 'tenure/etcd'`. Needs no package. */
export {
  type EtcdCoordinator,
  type EtcdCoordinatorEvents,
  type EtcdCoordinatorOptions,
  type EtcdTlsOptions,
  etcdCoordinator,
} from './coordinators/etcd/index.js';
