import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findRedisServer } from '../../../scripts/server-binaries.mjs';
import { SteppableClock } from '../clock-shim/steppable-clock.js';
import {
  Guard,
  logFile,
  makeServerDir,
  onFreePort,
  removeServerDir,
  ServerProcess,
} from './process.js';

export interface RedisOptions {
  /** When the append-only file reaches the disk; 'no' (the default): no file, memory only. */
  readonly appendonly?: 'always' | 'everysec' | 'no';
  /** A folder of the caller's, which is not removed. Default: a temporary one, which is. */
  readonly dir?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Give it a wall clock of its own, for `stepClock`. Default: that of the machine. */
  readonly clock?: boolean;
  /** Further server options: `['--maxmemory', '8mb']`. */
  readonly args?: readonly string[];
}

/** A Redis of the caller's own on the loopback interface. */
export interface RedisServer {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly dir: string;
  /** Of the server that runs now; changes with a restart. */
  readonly pid: number;
  /** Ends the server in good order and removes its temporary folder. May be called twice. */
  stop(): Promise<void>;
  /** SIGKILL: what was not yet on disk is lost. The folder stays for a restart. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /**
   * Starts again on the same port, after ending in good order what still runs. Keeping data needs
   * `appendonly`; after `kill()` it keeps what had reached the disk.
   */
  restart(options: { readonly keepData: boolean }): Promise<void>;
  /** Sets its wall clock forward or back, for later starts as well. Needs `clock`. */
  stepClock(stepMs: number): void;
  /** How far its wall clock is ahead of the machine's. */
  readonly clockOffsetMs: number;
}

const host = '127.0.0.1';

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const program = findRedisServer();
  if (!program) throw new Error('redis-server is not installed; `npm test` installs it');
  const appendonly = options.appendonly ?? 'no';
  const dir = options.dir ?? makeServerDir('redis');
  const removeDir = options.dir === undefined ? dir : undefined;
  const guard = new Guard(['KILL'], removeDir);
  const clock = options.clock ? new SteppableClock(clockFolder(dir)) : undefined;
  const clear = async (): Promise<void> => {
    clock?.close();
    if (removeDir) await removeServerDir(removeDir);
    guard.dismiss();
  };

  const launch = async (port: number): Promise<ServerProcess> => {
    const server = new ServerProcess({
      program,
      args: [
        ...['--port', String(port), '--bind', host, '--dir', dir, '--save', ''],
        ...['--maxmemory-policy', 'noeviction', '--daemonize', 'no'],
        ...['--appendonly', appendonly === 'no' ? 'no' : 'yes'],
        ...(appendonly === 'no' ? [] : ['--appendfsync', appendonly]),
        ...(options.args ?? []),
      ],
      dir,
      environment: clock?.environment,
      guard,
    });
    // Its own word, not an answer on the port: that could come from somebody who was faster.
    await server.untilReady(async () => server.logged.includes('Ready to accept connections'));
    if (server.logged.includes('cannot be preloaded')) {
      await server.end('SIGKILL');
      throw new Error('the clock shim was not loaded, so the clock could not be stepped');
    }
    return server;
  };

  let server: ServerProcess;
  let port: number;
  try {
    [server, port] = options.port
      ? [await launch(options.port), options.port]
      : await onFreePort(async (free) => [await launch(free), free] as const);
  } catch (error) {
    await clear();
    throw error;
  }

  return {
    url: `redis://${host}:${port}`,
    host,
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
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    async restart({ keepData }) {
      if (keepData && appendonly === 'no') {
        throw new Error(
          "this Redis keeps nothing: start it with appendonly 'always' or 'everysec'",
        );
      }
      await server.end('SIGTERM');
      if (!keepData) await removeData(dir);
      server = await launch(port);
    },
    stepClock(stepMs) {
      if (!clock)
        throw new Error('this Redis has the clock of the machine: start it with clock: true');
      clock.step(stepMs);
    },
    get clockOffsetMs() {
      return clock?.offsetMs ?? 0;
    },
  };
}

function clockFolder(dir: string): string {
  return join(dir, 'clock');
}

/** Who it is in a cluster, it stays. */
const identityFile = 'nodes.conf';

async function removeData(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const path = join(dir, name);
    const isData = path !== logFile(dir) && path !== clockFolder(dir) && name !== identityFile;
    if (isData) await rm(path, { recursive: true });
  }
}
