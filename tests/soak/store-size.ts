import type { Redis } from 'ioredis';
import { openDatabase } from '../support/sqlite-database.js';
import { withClient } from '../support/with-client.js';
import type { StoreSize } from './sample.js';

export const nothing: StoreSize = { keyCount: 0, entryCount: 0 };

export function sumOf(sizes: readonly StoreSize[]): StoreSize {
  return sizes.reduce((sum, { keyCount, entryCount }) => {
    return { keyCount: sum.keyCount + keyCount, entryCount: sum.entryCount + entryCount };
  }, nothing);
}

const lengthCommand: Readonly<Record<string, string>> = {
  hash: 'HLEN',
  list: 'LLEN',
  set: 'SCARD',
  zset: 'ZCARD',
  stream: 'XLEN',
};

/** All keys with the namespace in their names. */
export async function redisSize(redis: Redis, namespace: string): Promise<StoreSize> {
  const keys = new Set<string>();
  for await (const some of redis.scanStream({ match: `*${namespace}*`, count: 1_000 }))
    for (const key of some as string[]) keys.add(key);
  let entryCount = 0;
  for (const key of keys) {
    const command = lengthCommand[await redis.type(key)];
    entryCount += command === undefined ? 1 : Number(await redis.call(command, key));
  }
  return { keyCount: keys.size, entryCount };
}

/** All rows of all tables of the caller's own. */
export async function postgresSize(url: string): Promise<StoreSize> {
  return await withClient(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    let rowCount = 0;
    for (const { name } of tables) {
      const { rows } = await client.query(`SELECT count(*) AS count FROM ${name}`);
      rowCount += Number(rows[0]?.count);
    }
    return { keyCount: rowCount, entryCount: rowCount };
  });
}

export function sqliteSize(file: string): StoreSize {
  const database = openDatabase(file);
  try {
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all() as { readonly name: string }[];
    let rowCount = 0;
    for (const { name } of tables) {
      const row = database.prepare(`SELECT count(*) AS count FROM "${name}"`).get();
      rowCount += Number((row as { readonly count: number }).count);
    }
    return { keyCount: rowCount, entryCount: rowCount };
  } finally {
    database.close();
  }
}
