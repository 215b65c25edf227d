/**
 * Leases on a ZooKeeper ensemble: `import { zookeeperCoordinator } from 'tenure/zookeeper'`. Needs no other package.
 */
export * from './coordinators/zookeeper/index.js';
