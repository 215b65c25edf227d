import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '../../../scripts/server-binaries.mjs';
import { Guard, makeServerDir, onFreePort, removeServerDir, ServerProcess } from './process.js';
import type { RedisOptions, RedisServer } from './redis.js';
import { hasReplicas, roleOf, startReplicating, untilReached } from './redis-replication.js';

export interface SentinelOptions {
  /** After how long a master that does not answer is replaced. Default 500 ms. */
  readonly downAfterMs?: number;
  readonly replicaCount?: number;
  /** Of the Redis servers. */
  readonly server?: RedisOptions;
  /** What sentinels ask of their own clients. Default: no password. */
  readonly sentinelPassword?: string;
}

export interface Sentinel {
  readonly port: number;
  stop(): Promise<void>;
  /** SIGSTOP: its connections stay open, and it does not answer. */
  freeze(): void;
  thaw(): void;
}

/** A master, its replicas and three sentinels, on the loopback interface. */
export interface RedisSentinels {
  readonly url: string;
  readonly masterName: string;
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly Sentinel[];
  /** The server that most sentinels take for the master. */
  master(): Promise<RedisServer>;
  /** Makes one of the replicas the master, whether the present one lives or not. */
  failover(): Promise<RedisServer>;
  /** Waits until another server is the master than this one. */
  succeeded(former: RedisServer): Promise<RedisServer>;
  /** Waits until the master has all replicas that run. */
  settled(replicaCount?: number): Promise<void>;
  stop(): Promise<void>;
}

const masterName = 'tenure-test';
const host = '127.0.0.1';

export async function startRedisSentinels(options: SentinelOptions = {}): Promise<RedisSentinels> {
  const servers: RedisServer[] = [];
  const sentinels: Sentinel[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    const first = await startReplicating([], options.server);
    servers.push(first);
    const follows = ['--replicaof', host, String(first.port)];
    const count = options.replicaCount ?? 2;
    const replicas = Array.from({ length: count }, () => startReplicating(follows, options.server));
    servers.push(...(await Promise.all(replicas)));
    await untilReached('replication', () => hasReplicas(first, count));
    const starting = [1, 2, 3].map(() => startSentinel(first.port, options));
    sentinels.push(...(await Promise.all(starting)));
    const ready = sentinels.map((sentinel) =>
      untilReached('the sentinels finding each other', () => isReady(sentinel, count, options)),
    );
    await Promise.all(ready);
  } catch (error) {
    await stop();
    throw error;
  }

  const toldBy = async (sentinel: Sentinel): Promise<RedisServer | undefined> => {
    const question = ['get-master-addr-by-name', masterName];
    const reply = await askSentinel(sentinel, options, 'SENTINEL', ...question).catch(() => []);
    return servers.find(({ port }) => port === Number((reply as string[])[1]));
  };
  const master = async (): Promise<RedisServer> => {
    const told = await Promise.all(sentinels.map(toldBy));
    const votes = (server: RedisServer) => told.filter((one) => one === server).length;
    const best = [...servers].sort((one, other) => votes(other) - votes(one))[0];
    if (best === undefined || votes(best) < 2) throw new Error('the sentinels do not agree');
    return best;
  };
  const succeeded = async (former: RedisServer, limitMs?: number): Promise<RedisServer> => {
    await untilReached(
      'a new master',
      async () => {
        const present = await master();
        return present !== former && (await roleOf(present)) === 'master';
      },
      limitMs,
    );
    return master();
  };
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `${host}:${port}`).join(',')}/${masterName}`,
    masterName,
    servers,
    sentinels,
    master,
    succeeded,
    async failover() {
      const former = await master();
      const [sentinel] = sentinels as [Sentinel];
      for (;;) {
        // One that goes on already is as good; one that finds no replica good enough just now is given up.
        await askSentinel(sentinel, options, 'SENTINEL', 'FAILOVER', masterName).catch(() => {});
        const next = await succeeded(former, 4_000).catch(() => undefined);
        if (next !== undefined) return next;
      }
    },
    async settled(replicaCount = servers.length - 1) {
      await untilReached('all replicas', async () => hasReplicas(await master(), replicaCount));
    },
    stop,
  };
}

async function startSentinel(masterPort: number, options: SentinelOptions): Promise<Sentinel> {
  const program = findRedisServer();
  if (!program) throw new Error('redis-server is not installed; `npm test` installs it');
  const dir = makeServerDir('sentinel');
  const guard = new Guard(['KILL'], dir);
  const file = join(dir, 'sentinel.conf');
  const launch = async (port: number): Promise<readonly [ServerProcess, number]> => {
    writeFileSync(file, configuration(port, masterPort, dir, options));
    const sentinel = new ServerProcess({ program, args: [file, '--sentinel'], dir, guard });
    await sentinel.untilReady(async () => sentinel.logged.includes('Sentinel ID is'));
    return [sentinel, port];
  };
  const [process, port] = await onFreePort(launch);
  return {
    port,
    async stop() {
      await process.end('SIGTERM');
      await removeServerDir(dir);
      guard.dismiss();
    },
    freeze: () => process.signal('SIGSTOP'),
    thaw: () => process.signal('SIGCONT'),
  };
}

function configuration(
  port: number,
  masterPort: number,
  dir: string,
  { downAfterMs = 500, sentinelPassword }: SentinelOptions,
): string {
  return [
    `port ${port}`,
    `bind ${host}`,
    `dir ${dir}`,
    'daemonize no',
    ...(sentinelPassword === undefined ? [] : [`requirepass ${sentinelPassword}`]),
    `sentinel monitor ${masterName} ${host} ${masterPort} 2`,
    `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
    `sentinel failover-timeout ${masterName} 2000`,
    `sentinel parallel-syncs ${masterName} 2`,
    '',
  ].join('\n');
}

async function askSentinel(
  { port }: Sentinel,
  { sentinelPassword }: SentinelOptions,
  command: string,
  ...args: string[]
): Promise<unknown> {
  const login = sentinelPassword === undefined ? {} : { password: sentinelPassword };
  const client = new Redis(port, host, { ...login, lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/**
 * Whether it knows the two others and all replicas. It looks around more often than it would by itself, which is every two
 * seconds; but once it is ready, not so often, since after four of these periods it takes a replica that another one has
 * just promoted for a master that is none.
 */
async function isReady(
  sentinel: Sentinel,
  replicaCount: number,
  options: SentinelOptions,
): Promise<boolean> {
  // What it knows of a replica is good for three and five of these, and is up to a second old while a master is down.
  const often = ['info-period', 'ping-period', 'ask-period'].flatMap((period) => [period, '300']);
  const question = ['DEBUG', ...often, 'publish-period'];
  await askSentinel(sentinel, options, 'SENTINEL', ...question, '100');
  await askSentinel(sentinel, options, 'SENTINEL', 'CKQUORUM', masterName);
  const replicas = await askSentinel(sentinel, options, 'SENTINEL', 'REPLICAS', masterName);
  if (!Array.isArray(replicas) || replicas.length !== replicaCount) return false;
  await askSentinel(sentinel, options, 'SENTINEL', ...question, '500');
  return true;
}
