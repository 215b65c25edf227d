/**
 * An owner that freezes between its check and its commit: run by faults.test.ts with a database URL, a name and a term,
 * and stopped with SIGSTOP as soon as it has said "checked". It commits when it is woken.
 */
import { register } from 'node:module';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { createPool } = await import('mysql2/promise');
const { mysqlFence } = await import('../../../src/fences/mysql/index.js');
const { tokenOf } = await import('../../../src/fences/conformance/scenario.js');

const [url = '', name = '', term = '', way = ''] = process.argv.slice(2);
const pool = createPool(url);
const fence = mysqlFence(pool, { idleInTransactionTimeoutMs: 1000 });
const token = tokenOf(name, Number(term));
await fence.claim(token);

/** @param {import("mysql2/promise").PoolConnection} connection */
async function writeAndFreeze(connection) {
  await connection.execute('INSERT INTO app.data VALUES (?, ?)', [name, 'from the frozen owner']);
  const woken = new Promise((resolve) => process.once('SIGCONT', resolve));
  const alive = setInterval(() => {}, 1000);
  console.log('checked');
  await woken;
  clearInterval(alive);
}

async function inTransactionOfItsOwn() {
  const connection = await pool.getConnection();
  connection.on('error', () => {});
  await connection.beginTransaction();
  await fence.check(connection, token);
  await writeAndFreeze(connection);
  await connection.commit();
}

const attempt =
  way === 'check' ? inTransactionOfItsOwn() : fence.transaction(token, writeAndFreeze);
console.log(
  await attempt.then(
    () => 'committed',
    (error) => `refused: ${error.name}`,
  ),
);
process.exit();
