export {
  type RedisQuorumCoordinator,
  type RedisQuorumCoordinatorEvents,
  type RedisQuorumCoordinatorOptions,
  redisQuorumCoordinator,
} from './coordinator.js';
