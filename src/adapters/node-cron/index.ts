export {
  type NodeCronCoordinator,
  type NodeCronOptions,
  nodeCronCoordinator,
} from './coordinator.js';
