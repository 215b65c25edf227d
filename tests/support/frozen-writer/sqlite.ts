import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SqliteFenceTransaction, sqliteFence } from '../../../src/fences/sqlite/index.js';
import { openDatabase } from '../sqlite-database.js';
import type { FencedStore, LogSide } from './store.js';

/** SQLite ends nobody's transaction: a claim waits for as long as its owner is frozen inside one. */
export const store: FencedStore = {
  url: import.meta.url,
  async prepare() {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-frozen-'));
    const target = join(folder, 'log.db');
    const fence = sqliteFence(target);
    await fence.migrate();
    await fence.close();
    const database = openDatabase(target);
    database.exec('CREATE TABLE log (name TEXT NOT NULL, term INTEGER NOT NULL)');
    database.close();
    return { target, remove: async () => rmSync(folder, { recursive: true, force: true }) };
  },
  open: async (target) => openSide(target),
};

function openSide(target: string): LogSide {
  const fence = sqliteFence(target);
  const database = openDatabase(target);
  const insert = 'INSERT INTO log VALUES (?, ?)';
  return {
    claim: (token) => fence.claim(token),
    async append(token, isFenced, inside) {
      const { name, term } = token;
      if (isFenced) {
        await fence.transaction(token, async (open: SqliteFenceTransaction) => {
          open.run(insert, name, term);
          await inside();
        });
        return;
      }
      // What comes before the write is all that can be frozen here without keeping everybody else from writing.
      await inside();
      await untilUnlocked(() => database.exec(`INSERT INTO log VALUES ('${name}', ${term})`));
    },
    async count(name, term) {
      const text = 'SELECT count(*) AS count FROM log WHERE name = ? AND term = ?';
      return Number(Object(database.prepare(text).get(name, term)).count);
    },
    async close() {
      await fence.close();
      database.close();
    },
  };
}

/** Without blocking this process, which is to wake the one that has the lock. */
async function untilUnlocked(write: () => unknown): Promise<void> {
  for (;;) {
    try {
      write();
      return;
    } catch (error) {
      if (!/locked|busy/i.test(String(error))) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
