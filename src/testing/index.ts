export {
  type FaultOptions,
  FaultyCoordinator,
  type FaultyCoordinatorOptions,
} from './faulty-coordinator.js';
export { TestFleet, type TestFleetOptions } from './fleet.js';
export { TestProcess, type TestProcessOptions } from './process.js';
export { ProcessRuntime } from './process-runtime.js';
