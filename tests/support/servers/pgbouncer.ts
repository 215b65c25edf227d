import { chownSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findPgBouncer } from '../../../scripts/server-binaries.mjs';
import { type PostgresServer, unprivilegedAccount } from './postgres.js';
import { Guard, makeServerDir, onFreePort, removeServerDir, ServerProcess } from './process.js';

export interface PgBouncerOptions {
  /** After what a session is given to somebody else. */
  readonly poolMode: 'transaction' | 'session';
  /** How many sessions it has with the server. Default 8. */
  readonly poolSize?: number;
}

/** A pooler of the caller's own on the loopback interface, in front of a server. Asks nobody for a password. */
export interface PgBouncer {
  readonly url: string;
  readonly port: number;
  /** Ends it and removes its folder. May be called twice. */
  stop(): Promise<void>;
}

const host = '127.0.0.1';

export async function startPgBouncer(
  server: PostgresServer,
  options: PgBouncerOptions,
): Promise<PgBouncer> {
  const program = findPgBouncer();
  if (!program) throw new Error('pgbouncer is not installed; `npm test` installs it');
  // It refuses to run as root.
  const account = unprivilegedAccount();
  const dir = makeServerDir('pgbouncer', account);
  const guard = new Guard(['KILL'], dir);
  const clear = async (): Promise<void> => {
    await removeServerDir(dir);
    guard.dismiss();
  };
  const launch = async (port: number): Promise<ServerProcess> => {
    const config = join(dir, 'pgbouncer.ini');
    writeFileSync(config, configuration(server, options, port), { mode: 0o600 });
    if (account) chownSync(config, account.uid, account.gid);
    const bouncer = new ServerProcess({ program, args: [config], dir, account, guard });
    await bouncer.untilReady(() => accepts(port));
    return bouncer;
  };
  try {
    const [bouncer, port] = await onFreePort(async (free) => [await launch(free), free] as const);
    return {
      url: `postgres://tenure@${host}:${port}/postgres`,
      port,
      async stop() {
        await bouncer.end('SIGTERM');
        await clear();
      },
    };
  } catch (error) {
    await clear();
    throw error;
  }
}

/** Everything that is not here is as Debian's package has it. */
function configuration(server: PostgresServer, options: PgBouncerOptions, port: number): string {
  const { username, password } = new URL(server.url);
  return `[databases]
* = host=${server.host} port=${server.port} user=${username} password=${password}

[pgbouncer]
listen_addr = ${host}
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${options.poolMode}
default_pool_size = ${options.poolSize ?? 8}
max_client_conn = 500
server_login_retry = 1
`;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.once('connect', () => socket.destroy());
  });
}
