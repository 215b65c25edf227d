import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Coordinator } from '../../../src/coordinators/index.js';
import { RedisKeys } from '../../../src/coordinators/redis/keys.js';
import { loadSqlite, type SqliteDatabase } from '../../../src/drivers/sqlite/client.js';
import { etcdCoordinator } from '../../../src/etcd.js';
import { postgresCoordinator } from '../../../src/postgres.js';
import { redisCoordinator, redisQuorumCoordinator } from '../../../src/redis.js';
import { sqliteCoordinator } from '../../../src/sqlite.js';
import { zookeeperCoordinator } from '../../../src/zookeeper.js';

export const placeNames = ['Redis', 'SQLite'] as const;
export type PlaceName = (typeof placeNames)[number];

/** A store for an election. */
export interface Place {
  readonly name: string;
  readonly url: string;
  connect(namespace: string): Coordinator;
  /** Lets go of it; a server stays. */
  close(): Promise<void>;
}

/** A store, and what somebody can do to it by hand, past all coordinators. */
export interface TamperablePlace extends Place {
  readonly name: PlaceName;
  /** The record of a lease is gone. */
  deleteRecord(namespace: string, name: string): Promise<void>;
  /** Something that is no record stands in its place. */
  overwriteRecord(namespace: string, name: string, text: string): Promise<void>;
  /** The foreign text under a name; `undefined` if there is none. */
  foreignText(namespace: string, name: string): Promise<string | undefined>;
}

export function openPlace(name: PlaceName, redisUrl: string, folder: string): TamperablePlace {
  return name === 'Redis' ? new RedisPlace(redisUrl) : new SqlitePlace(folder);
}

/** A server that somebody else has started, of whatever kind. */
export function serverPlace(name: string, url: string): Place {
  return { name, url, connect: (namespace) => connectTo(url, namespace), async close() {} };
}

function connectTo(url: string, namespace: string): Coordinator {
  switch (/^\w+(?:\+quorum)?/.exec(url)?.[0]) {
    case 'postgres':
      return postgresCoordinator(url, { namespace });
    case 'etcd':
      return etcdCoordinator(url, { namespace });
    case 'zookeeper':
      return zookeeperCoordinator(url, { namespace });
    case 'redis+quorum':
      // It only looks on, beside a busy machine's candidates: it can wait for an answer.
      return redisQuorumCoordinator(url, { namespace, nodeTimeoutMs: 1_000 });
    default:
      return redisCoordinator(url, { namespace });
  }
}

class RedisPlace implements TamperablePlace {
  readonly name = 'Redis';
  readonly url: string;
  readonly #admin: Redis;

  constructor(url: string) {
    this.url = url;
    this.#admin = new Redis(url, { lazyConnect: true });
    this.#admin.on('error', () => {});
  }

  connect(namespace: string): Coordinator {
    return redisCoordinator(this.url, { namespace });
  }

  async deleteRecord(namespace: string, name: string): Promise<void> {
    await this.#admin.del(keyOf(namespace, name));
  }

  async overwriteRecord(namespace: string, name: string, text: string): Promise<void> {
    await this.#admin.set(keyOf(namespace, name), text);
  }

  async foreignText(namespace: string, name: string): Promise<string | undefined> {
    const text = await this.#admin.get(keyOf(namespace, name));
    return text === null || /^2[LEXR]\|/.test(text) ? undefined : text;
  }

  async close(): Promise<void> {
    this.#admin.disconnect();
  }
}

function keyOf(namespace: string, name: string): string {
  return new RedisKeys(namespace).place(name).lease;
}

export class SqlitePlace implements TamperablePlace {
  readonly name = 'SQLite';
  readonly url: string;
  readonly #folder: string;
  readonly #path: string;
  readonly #open = new Set<SqliteDatabase>();

  constructor(parentFolder: string) {
    this.#folder = mkdtempSync(join(parentFolder, 'tenure-electorate-'));
    this.#path = join(this.#folder, 'tenure.db');
    this.url = `sqlite:${this.#path}`;
  }

  connect(namespace: string): Coordinator {
    return sqliteCoordinator(this.url, { namespace });
  }

  /** Takes the file's lock, as a long transaction of somebody else would; returns what lets go of it. */
  async lock(): Promise<() => void> {
    const database = await this.#database();
    database.exec('BEGIN IMMEDIATE');
    return () => {
      database.exec('ROLLBACK');
      this.#close(database);
    };
  }

  /** The file is gone, with all that SQLite keeps beside it. */
  deleteFile(): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
  }

  async deleteRecord(namespace: string, name: string): Promise<void> {
    await this.#as((database) =>
      database.prepare('DELETE FROM lease WHERE namespace = ? AND name = ?').run(namespace, name),
    );
  }

  async overwriteRecord(namespace: string, name: string, text: string): Promise<void> {
    await this.#as((database) =>
      database
        .prepare('UPDATE lease SET kind = ? WHERE namespace = ? AND name = ?')
        .run(text, namespace, name),
    );
  }

  async foreignText(namespace: string, name: string): Promise<string | undefined> {
    return await this.#as((database) => {
      const row = database
        .prepare('SELECT kind FROM lease WHERE namespace = ? AND name = ?')
        .get(namespace, name) as { kind: string } | undefined;
      return ['lease', 'reservation'].includes(row?.kind ?? 'lease') ? undefined : row?.kind;
    });
  }

  async close(): Promise<void> {
    for (const database of this.#open) database.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #as<Value>(act: (database: SqliteDatabase) => Value): Promise<Value> {
    const database = await this.#database();
    try {
      return act(database);
    } finally {
      this.#close(database);
    }
  }

  async #database(): Promise<SqliteDatabase> {
    const database = (await loadSqlite()).open(this.#path);
    database.exec('PRAGMA busy_timeout = 2000');
    this.#open.add(database);
    return database;
  }

  #close(database: SqliteDatabase): void {
    this.#open.delete(database);
    database.close();
  }
}
