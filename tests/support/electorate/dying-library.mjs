/** SQLite for a process that kills itself (SIGKILL) right before or right after the commit of a certain operation. */

/** @type {Record<import('./candidate.js').Death['at'], RegExp>} what the operation alone writes */
const marks = {
  acquire: /^INSERT OR REPLACE INTO lease\b/,
  renew: /^UPDATE lease\b/,
  release: /^DELETE FROM lease\b/,
};

/** @param {import('./candidate.js').Death} death */
export async function dyingLibrary({ at, moment }) {
  // The one that the coordinator would load.
  const client = new URL('../../../dist/drivers/sqlite/client.js', import.meta.url).href;
  const { loadSqlite } = await import(client);
  /** @type {import('../../../src/drivers/sqlite/client.js').SqliteLibrary} */
  const library = await loadSqlite();
  const die = () => process.kill(process.pid, 'SIGKILL');

  /** @param {string} path @returns {import('../../../src/drivers/sqlite/client.js').SqliteDatabase} */
  const open = (path) => {
    const database = library.open(path);
    let isMarked = false;
    return {
      exec(sql) {
        const isLast = isMarked && sql === 'COMMIT';
        if (sql.startsWith('BEGIN')) isMarked = false;
        if (isLast && moment === 'before') die();
        database.exec(sql);
        if (isLast) die();
      },
      prepare(sql) {
        const statement = database.prepare(sql);
        return {
          run(...values) {
            const result = /** @type {{ changes: number }} */ (statement.run(...values));
            if (marks[at].test(sql) && result.changes > 0) isMarked = true;
            return result;
          },
          get: (...values) => statement.get(...values),
          all: (...values) => statement.all(...values),
        };
      },
      close: () => database.close(),
    };
  };
  return {
    open,
    /** @param {unknown} error */
    resultCode: (error) => library.resultCode(error),
  };
}
