export { type SqliteOnceOptions, sqliteOnce } from './store.js';
