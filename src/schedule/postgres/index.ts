export {
  type PostgresJobStore,
  type PostgresJobStoreOptions,
  postgresJobs,
} from './store.js';
