import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { findMariaDb, findMariaDbInstall } from '../../../scripts/server-binaries.mjs';
import { unprivilegedAccount } from './postgres.js';
import {
  type Account,
  Guard,
  makeServerDir,
  onFreePort,
  removeServerDir,
  ServerProcess,
  serverEnvironment,
} from './process.js';

export interface MariaDbOptions {
  /** Further server settings: `{ innodb_flush_log_at_trx_commit: '2' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A MariaDB of the caller's own on the loopback interface, with a random password. */
export interface MariaDbServer {
  /** With an empty database `app` of the tests. */
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly pid: number;
  /** Ends the server in good order and removes its folder. May be called twice. */
  stop(): Promise<void>;
  /** Ends it as a crash would (SIGKILL): recovery at the next start. */
  kill(): Promise<void>;
  /** Starts again on the same port with the same data, after ending what still runs. */
  restart(): Promise<void>;
}

const user = 'tenure';

export async function startMariaDb(options: MariaDbOptions = {}): Promise<MariaDbServer> {
  const program = findMariaDb();
  const install = findMariaDbInstall();
  if (!program || !install)
    throw new Error('mariadb-server is not installed; `npm test` installs it');
  const account = unprivilegedAccount();
  const dir = makeServerDir('mariadb', account);
  const guard = new Guard(['KILL'], dir);
  const password = randomBytes(18).toString('base64url');
  const urlOf = (port: number): string => `mysql://${user}:${password}@127.0.0.1:${port}/app`;

  const launch = async (port: number): Promise<ServerProcess> => {
    const server = new ServerProcess({
      program,
      args: serverArguments(dir, port, options.settings),
      dir,
      account,
      guard,
    });
    await server.untilReady(() => answers(urlOf(port)));
    return server;
  };
  const clear = async (): Promise<void> => {
    await removeServerDir(dir);
    guard.dismiss();
  };

  let server: ServerProcess;
  let port: number;
  try {
    await initialise({ install, dir, password, account });
    [server, port] = await onFreePort(async (free) => [await launch(free), free] as const);
  } catch (error) {
    await clear();
    throw error;
  }
  return {
    url: urlOf(port),
    port,
    dir,
    get pid() {
      return server.pid;
    },
    async stop() {
      await server.end('SIGTERM');
      await clear();
    },
    kill: () => server.end('SIGKILL'),
    async restart() {
      await server.end('SIGTERM');
      server = await launch(port);
    },
  };
}

function serverArguments(
  dir: string,
  port: number,
  settings: MariaDbOptions['settings'],
): string[] {
  const all: Record<string, string> = {
    datadir: join(dir, 'data'),
    tmpdir: join(dir, 'tmp'),
    socket: join(dir, 'socket'),
    pid_file: join(dir, 'pid'),
    init_file: join(dir, 'init.sql'),
    bind_address: '127.0.0.1',
    port: String(port),
    max_connections: '200',
    innodb_buffer_pool_size: '32M',
    ...settings,
  };
  const pairs = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
  return ['--no-defaults', '--skip-name-resolve', ...pairs];
}

async function initialise(where: {
  readonly install: string;
  readonly dir: string;
  readonly password: string;
  readonly account: Account | undefined;
}): Promise<void> {
  const { dir, account } = where;
  // Run at each start, by the server itself.
  const statements = [
    'CREATE DATABASE IF NOT EXISTS app;',
    `CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${where.password}';`,
    `GRANT ALL ON *.* TO '${user}'@'%' WITH GRANT OPTION;`,
    "DROP USER IF EXISTS ''@'localhost';",
    "DROP USER IF EXISTS 'root'@'localhost';",
  ];
  const initFile = join(dir, 'init.sql');
  writeFileSync(initFile, `${statements.join('\n')}\n`, { mode: 0o600 });
  mkdirSync(join(dir, 'tmp'));
  if (account) {
    for (const path of [initFile, join(dir, 'tmp')]) chownSync(path, account.uid, account.gid);
  }
  await promisify(execFile)(
    where.install,
    [
      ...['--no-defaults', `--datadir=${join(dir, 'data')}`, `--tmpdir=${join(dir, 'tmp')}`],
      ...['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
    ],
    { cwd: dir, env: serverEnvironment(), ...account },
  );
}

async function answers(uri: string): Promise<boolean> {
  try {
    const connection = await createConnection({ uri, connectTimeout: 1000 });
    await connection.end();
    return true;
  } catch {
    return false;
  }
}
