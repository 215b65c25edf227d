import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migratePostgres } from '../../../src/postgres.js';
import { type PostgresServer, startPostgres, stopAll } from '../../support/servers/postgres.js';
import { serverEnvironment } from '../../support/servers/process.js';
import { clockStepMs } from '../faults/processes.js';
import type { Stage } from '../stage.js';
import { diskFull } from './redis.js';
import { noSmallDisk, SmallDisk } from './small-disk.js';
import { timingOf } from './timing.js';
import { Ways } from './ways.js';

const role = 'holder';
const password = 'of-the-holders';

/** One server, which is not the one that the resource is in. */
export async function postgresStage(): Promise<Stage> {
  const settings = { max_wal_size: '64MB', min_wal_size: '32MB' };
  const server = await startPostgres({ clock: true, settings });
  const disk = noSmallDisk === undefined ? await moveToSmallDisk(server) : undefined;
  const ways = new Ways();
  await migratePostgres(server.url);
  await run(server.url, [
    `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`,
    `GRANT USAGE ON SCHEMA tenure TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tenure TO ${role}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA tenure TO ${role}`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tenure TO ${role}`,
  ]);
  return {
    timing: timingOf(3_000),
    async connect() {
      const proxies = await ways.to([server]);
      const url = new URL(server.url);
      url.username = role;
      url.password = password;
      url.port = String(proxies[0]?.port);
      return { connection: { url: url.href }, proxies };
    },
    disturbances: {
      async 'server killed'() {
        await server.kill();
        return () => server.restart();
      },
      async 'server frozen'() {
        const stopped = stopAll(server.pid);
        return async () => {
          for (const pid of stopped) process.kill(pid, 'SIGCONT');
        };
      },
      /** What was committed after a moment is gone, as after a failover to a replica that had not got it. */
      async 'tail lost'() {
        const copy = await server.copyData();
        return async () => {
          await server.kill();
          replaceContents(join(server.dir, 'data'), copy);
          rmSync(copy, { recursive: true });
          await server.restart();
        };
      },
      async 'server clock'(_, { amount }) {
        const stepMs = clockStepMs(amount);
        server.stepClock(stepMs);
        return async () => server.stepClock(-stepMs);
      },
      async 'password changed'() {
        await run(server.url, [
          `ALTER ROLE ${role} PASSWORD 'another'`,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`,
        ]);
        return () => run(server.url, [`ALTER ROLE ${role} PASSWORD '${password}'`]);
      },
      ...(disk && { 'disk full': diskFull(disk, () => server.restart()) }),
    },
    ...(noSmallDisk !== undefined && { impossible: { 'disk full': noSmallDisk } }),
    async stop() {
      await ways.stop();
      await server.kill();
      await disk?.unmount();
      await server.stop();
    },
  };
}

/** Its data go on under the same path, on a disk that can be filled. */
async function moveToSmallDisk(server: PostgresServer): Promise<SmallDisk> {
  const data = join(server.dir, 'data');
  const former = join(server.dir, 'former');
  await server.kill();
  renameSync(data, former);
  const disk = SmallDisk.mount(data, 200);
  replaceContents(data, former);
  rmSync(former, { recursive: true });
  await server.restart();
  return disk;
}

/** The folder itself stays: it may be where a disk is mounted. */
function replaceContents(folder: string, by: string): void {
  for (const entry of readdirSync(folder)) rmSync(join(folder, entry), { recursive: true });
  execFileSync('cp', ['-a', `${by}/.`, folder], { env: serverEnvironment() });
}

async function run(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
