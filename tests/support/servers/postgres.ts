import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { findPostgresFolder } from '../../../scripts/server-binaries.mjs';
import { SteppableClock } from '../clock-shim/steppable-clock.js';
import {
  type Account,
  Guard,
  makeServerDir,
  onFreePort,
  removeServerDir,
  ServerProcess,
  serverEnvironment,
} from './process.js';

export interface PostgresOptions {
  /** Off makes commits fast and a crash of the machine fatal. Default: on, as in production. */
  readonly fsync?: boolean;
  /** Further server settings: `{ synchronous_commit: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Give it a wall clock of its own, for `stepClock`. Default: that of the machine. */
  readonly clock?: boolean;
}

/** A PostgreSQL of the caller's own on the loopback interface, with a random password. */
export interface PostgresServer {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly dir: string;
  /** Of the server that runs now; changes with a restart. */
  readonly pid: number;
  /** Ends the server in good order (`-m fast`) and removes its folder. May be called twice. */
  stop(): Promise<void>;
  /** Ends it as a crash would (`-m immediate`): no checkpoint, recovery at the next start. */
  kill(): Promise<void>;
  /** SIGSTOP for the process that accepts connections: those that are open go on. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Starts again on the same port with the same data, after ending what still runs. */
  restart(): Promise<void>;
  /** What is on its disk at this moment, as a power cut would leave it: a folder in its own, and it runs on. */
  copyData(): Promise<string>;
  /** Ends it as a crash would, and starts it with a copy of its data, which stays. */
  restartFrom(copy: string): Promise<void>;
  /** Sets its wall clock forward or back, for later starts as well. Needs `clock`. */
  stepClock(stepMs: number): void;
  /** How far its wall clock is ahead of the machine's. */
  readonly clockOffsetMs: number;
}

const host = '127.0.0.1';
const user = 'tenure';

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = findPostgresFolder();
  if (!programs) throw new Error('postgresql is not installed; `npm test` installs it');
  const account = unprivilegedAccount();
  const dir = makeServerDir('postgres', account);
  // Immediate shutdown first: the parent process, killed outright, leaves its children behind for a
  // moment and its shared memory for good.
  const guard = new Guard(['QUIT', 'KILL'], dir);
  const clock = options.clock ? new SteppableClock(join(dir, 'clock')) : undefined;
  let copyCount = 0;
  const clear = async (): Promise<void> => {
    clock?.close();
    await removeServerDir(dir);
    guard.dismiss();
  };
  const data = join(dir, 'data');
  const password = randomBytes(18).toString('base64url');

  const settings: Record<string, string> = {
    listen_addresses: host,
    unix_socket_directories: '',
    fsync: options.fsync === false ? 'off' : 'on',
    max_connections: '200',
    shared_buffers: '32MB',
    ...options.settings,
  };

  const urlOf = (port: number): string => `postgres://${user}:${password}@${host}:${port}/postgres`;

  const launch = async (port: number): Promise<ServerProcess> => {
    const server = new ServerProcess({
      program: join(programs, 'postgres'),
      args: [
        ...['-D', data, '-p', String(port)],
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      dir,
      environment: clock?.environment,
      account,
      guard,
    });
    await server.untilReady(() => answers(urlOf(port)));
    return server;
  };

  let server: ServerProcess;
  let port: number;
  try {
    await initialise({ programs, dir, data, password, account });
    [server, port] = await onFreePort(async (free) => [await launch(free), free] as const);
  } catch (error) {
    await clear();
    throw error;
  }

  return {
    url: urlOf(port),
    host,
    port,
    dir,
    get pid() {
      return server.pid;
    },
    async stop() {
      await server.end('SIGINT');
      await clear();
    },
    kill: () => server.end('SIGQUIT'),
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    async restart() {
      await server.end('SIGINT');
      server = await launch(port);
    },
    async copyData() {
      const copy = join(dir, `copy-${copyCount++}`);
      const stopped = stopAll(server.pid);
      try {
        copyFolder(data, copy);
      } finally {
        for (const pid of stopped) process.kill(pid, 'SIGCONT');
      }
      // It names the process that runs now.
      rmSync(join(copy, 'postmaster.pid'));
      return copy;
    },
    async restartFrom(copy) {
      await server.end('SIGQUIT');
      rmSync(data, { recursive: true });
      copyFolder(copy, data);
      server = await launch(port);
    },
    stepClock(stepMs) {
      if (!clock)
        throw new Error('this PostgreSQL has the clock of the machine: start it with clock: true');
      clock.step(stepMs);
    },
    get clockOffsetMs() {
      return clock?.offsetMs ?? 0;
    },
  };
}

async function initialise(where: {
  readonly programs: string;
  readonly dir: string;
  readonly data: string;
  readonly password: string;
  readonly account: Account | undefined;
}): Promise<void> {
  const passwordFile = join(where.dir, 'password');
  writeFileSync(passwordFile, `${where.password}\n`, { mode: 0o600 });
  if (where.account) chownSync(passwordFile, where.account.uid, where.account.gid);
  await promisify(execFile)(
    join(where.programs, 'initdb'),
    [
      ...['--pgdata', where.data, '--username', user, '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C'],
      // Only the empty cluster is not synced; the server itself does sync.
      ...['--no-sync', '--no-instructions'],
    ],
    { cwd: where.dir, env: serverEnvironment(), ...where.account },
  );
}

/** With owners, modes and times. */
function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to], { env: serverEnvironment() });
}

/** Stops (SIGSTOP) the server and then its children, so that none of them writes. @returns whom to let go on. */
export function stopAll(pid: number): number[] {
  process.kill(pid, 'SIGSTOP');
  const children = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && parentOf(entry) === pid)
    .map(Number);
  for (const child of children) process.kill(child, 'SIGSTOP');
  return [...children, pid];
}

/** `undefined` if the process has ended meanwhile. */
function parentOf(entry: string): number | undefined {
  try {
    // After the name, which may hold anything: the state, then the parent.
    const [, parent] =
      readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(parent);
  } catch {
    return undefined;
  }
}

/** PostgreSQL refuses to run as root. */
export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

export interface FreshDatabase {
  readonly url: string;
  /** Drops it, ending sessions that are still open. May be called twice. */
  drop(): Promise<void>;
}

/** An empty database of the caller's own in a server that others share. */
export async function freshPostgresDatabase(serverUrl: string): Promise<FreshDatabase> {
  const name = `tenure_${randomBytes(8).toString('hex')}`;
  await run(serverUrl, `create database ${name} template template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await run(serverUrl, untilLeft(name));
      await run(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * Waits a while for the sessions of a database to be over. A pool says that it has ended before the server has read its
 * farewells, and a client that is thrown out then tells an error which nobody listens for any more.
 */
const untilLeft = (database: string) => `DO $$ BEGIN
  FOR round IN 1..100 LOOP
    EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '${database}');
    PERFORM pg_sleep(0.02), pg_stat_clear_snapshot();
  END LOOP;
END $$`;

async function run(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
