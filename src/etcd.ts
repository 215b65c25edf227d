/** Leases and a fence on an etcd cluster: `import { etcdCoordinator } from 'tenure/etcd'`. Needs no package. */
export {
  type EtcdCoordinator,
  type EtcdCoordinatorEvents,
  type EtcdCoordinatorOptions,
  type EtcdTlsOptions,
  etcdCoordinator,
} from './coordinators/etcd/index.js';
export {
  type EtcdBatch,
  type EtcdFence,
  type EtcdFenceOptions,
  etcdFence,
} from './fences/etcd/index.js';
