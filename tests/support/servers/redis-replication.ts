import { Redis } from 'ioredis';
import { until } from '../until.js';
import { type RedisOptions, type RedisServer, startRedis } from './redis.js';

/*
 * Replicas log in at their master as a user of their own. Without that user they get nothing more, and everybody else
 * goes on: a cut between servers that needs no rights on the machine, and leaves nothing behind in a socket, as a stopped
 * replica would.
 */

const user = 'replica';
const password = 'of-the-replicas';

/** Options of a server that may be a master or a replica. */
export function replicationArgs(): readonly string[] {
  return [
    ...['--user', user, 'on', `>${password}`, '+psync', '+replconf', '+ping'],
    ...['--masteruser', user, '--masterauth', password],
    ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
  ];
}

export function startReplicating(
  args: readonly string[],
  options: RedisOptions = {},
): Promise<RedisServer> {
  return startRedis({ ...options, args: [...replicationArgs(), ...args, ...(options.args ?? [])] });
}

/** One command on a connection of its own. */
export async function ask(
  server: Pick<RedisServer, 'host' | 'port'>,
  command: string,
  ...args: string[]
): Promise<unknown> {
  const client = new Redis(server.port, server.host, {
    lazyConnect: true,
    retryStrategy: () => null,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** From now on no replica hears of what this master writes. */
export async function cutReplicasOf(master: RedisServer): Promise<void> {
  await ask(master, 'ACL', 'SETUSER', user, 'off');
  await ask(master, 'CLIENT', 'KILL', 'TYPE', 'replica');
}

export async function healReplicasOf(master: RedisServer): Promise<void> {
  await ask(master, 'ACL', 'SETUSER', user, 'on');
}

/** `master` or `slave`; `undefined` while it does not answer. */
export async function roleOf(server: RedisServer): Promise<string | undefined> {
  const reply = await ask(server, 'ROLE').catch(() => undefined);
  return Array.isArray(reply) ? String(reply[0]) : undefined;
}

/** Calls `probe` until it is true; who does not answer says no. A sentinel whose process stood still for two seconds does nothing for half a minute. */
export async function untilReached(
  what: string,
  probe: () => Promise<boolean>,
  limitMs = 100_000,
): Promise<void> {
  await until(what, () => probe().catch(() => false), limitMs);
}

/**
 * Whether the master has so many replicas, and they all have what it had when this was asked. They say once a second how far
 * they are, and it goes on meanwhile.
 */
export async function hasReplicas(master: RedisServer, count: number): Promise<boolean> {
  const { offset: reached } = await replicationOf(master);
  const startedMs = performance.now();
  while (performance.now() - startedMs < 3_000) {
    const { role, acknowledged } = await replicationOf(master);
    if (role !== 'master' || acknowledged.length !== count) return false;
    if (acknowledged.every((one) => one >= reached)) return true;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return false;
}

async function replicationOf(master: RedisServer) {
  const reply = (await ask(master, 'ROLE')) as [string, number, [string, string, string][]];
  const [role, offset, replicas] = reply;
  if (role !== 'master') return { role, offset: 0, acknowledged: [] };
  return { role, offset, acknowledged: replicas.map(([, , acknowledged]) => Number(acknowledged)) };
}
