import pg from 'pg';
import { until } from '../../support/until.js';
import { runSql } from './subject.js';

/**
 * From now on, commits wait on the server for a standby that is not there; what they wrote is not visible meanwhile. The server takes a
 * new setting in its own time: this returns when a commit was seen waiting.
 */
export async function holdCommits(url: string): Promise<void> {
  await runSql(url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await runSql(url, 'SELECT pg_reload_conf()');
  await until('a commit that waits for the standby', () => commitWaits(url));
}

/** Commits wait no more, soon: those that did end well. */
export async function letCommits(url: string): Promise<void> {
  await runSql(url, 'ALTER SYSTEM RESET synchronous_standby_names');
  await runSql(url, 'SELECT pg_reload_conf()');
}

/** Commits something on a connection of its own, and tells whether that waits. */
async function commitWaits(url: string): Promise<boolean> {
  // Whatever the server's setting is: on a server where commits wait for nothing, this one does.
  const options = '-c synchronous_commit=on';
  const client = new pg.Client({ connectionString: url, options });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  const { pid } = rows[0];
  let isCommitted = false;
  client.query("SELECT pg_logical_emit_message(true, 'tenure', 'written')").then(
    () => {
      isCommitted = true;
    },
    () => {},
  );
  const waiting = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'";
  await until(
    'the commit, or its wait',
    async () => isCommitted || (await runSql(url, waiting, [pid])).rows.length > 0,
  );
  await runSql(url, 'SELECT pg_terminate_backend($1)', [pid]);
  await client.end();
  return !isCommitted;
}
