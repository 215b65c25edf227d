export { listen, ring } from './bell.js';
export type { SqliteDatabase, SqliteLibrary, SqliteRow, SqliteValue } from './client.js';
export { kernelClockKind, type SqliteClock, type SqliteMoment } from './clock.js';
export type { StatFileSystem } from './file-systems.js';
export type { SqliteEvents } from './keeper.js';
export { sqlitePath } from './location.js';
export type { SqliteSchema } from './schema.js';
export { SqliteSession } from './session.js';
export type { SqliteTransaction } from './transaction.js';
