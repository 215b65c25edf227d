export {
  type ZooKeeperCoordinator,
  type ZooKeeperCoordinatorEvents,
  type ZooKeeperCoordinatorOptions,
  zookeeperCoordinator,
} from './coordinator.js';
