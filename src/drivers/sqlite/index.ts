export { listen, ring } from './bell.js';
export type { SqliteLibrary, SqliteRow, SqliteValue } from './client.js';
export { kernelClockKind, type SqliteClock } from './clock.js';
export type { StatFileSystem } from './file-systems.js';
export type { SqliteEvents } from './keeper.js';
export { sqlitePath } from './location.js';
export type { SqliteSchema } from './schema.js';
export { SqliteSession } from './session.js';
export type { SqliteTransaction } from './transaction.js';
