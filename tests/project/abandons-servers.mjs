/** Starts one server of each kind, says which, and waits to be killed. */
import { register } from 'node:module';

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres, startRedis } = await import('../support/servers/index.js');

const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
const pids = [redis.pid, postgres.pid];
process.stdout.write(`${JSON.stringify({ pids, dirs: [redis.dir, postgres.dir] })}\n`);
setInterval(() => {}, 60_000);
