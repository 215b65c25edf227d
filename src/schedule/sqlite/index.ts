export { type SqliteJobStoreOptions, sqliteJobs } from './store.js';
