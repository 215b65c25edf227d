export {
  type SqliteCoordinator,
  type SqliteCoordinatorEvents,
  type SqliteCoordinatorOptions,
  sqliteCoordinator,
} from './coordinator.js';
