import { slotOf as slotOfKey } from '../../../src/drivers/redis/slot.js';
import { onFreePort } from './process.js';
import type { RedisOptions, RedisServer } from './redis.js';
import { ask, startReplicating, untilReached } from './redis-replication.js';

export interface ClusterOptions {
  /** After how long a node that does not answer is replaced. Default 1,000 ms. */
  readonly nodeTimeoutMs?: number;
  /** Of each master. Default 1. */
  readonly replicaCount?: number;
  readonly server?: RedisOptions;
}

/** Three masters with replicas, on the loopback interface. */
export interface RedisCluster {
  readonly url: string;
  readonly servers: readonly RedisServer[];
  /** The master of the slot of a key, as most nodes see it. */
  ownerOf(key: string): Promise<RedisServer>;
  /** The servers one of which has the slot of a key, whatever fails over. */
  familyOf(key: string): readonly RedisServer[];
  /** The replicas of a master. */
  replicasOf(master: RedisServer): Promise<readonly RedisServer[]>;
  /** Makes a replica of the owner its successor, without asking anybody, whether that one lives or not. */
  failover(key: string): Promise<RedisServer>;
  /** The same in good order: the owner lives, and hands over all that it has. */
  handOver(key: string): Promise<RedisServer>;
  /** Waits until all nodes agree that another one owns the slot of the key. */
  succeeded(key: string, former: RedisServer): Promise<RedisServer>;
  /** Waits until everybody sees a whole cluster, and all replicas that run have caught up. */
  settled(): Promise<void>;
  idOf(server: RedisServer): Promise<string>;
  slotOf(key: string): Promise<number>;
  stop(): Promise<void>;
}

const host = '127.0.0.1';
const masterCount = 3;
const slotCount = 16_384;

export async function startRedisCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { nodeTimeoutMs = 1_000, replicaCount = 1 } = options;
  const servers: RedisServer[] = [];
  const busPorts = new Map<RedisServer, number>();
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const startNode = () =>
    onFreePort(async (busPort) => {
      const server = await startReplicating(
        [
          ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
          ...['--cluster-node-timeout', String(nodeTimeoutMs)],
          ...['--cluster-allow-replica-migration', 'no'],
        ],
        options.server,
      );
      busPorts.set(server, busPort);
      return server;
    });
  const count = masterCount * (1 + replicaCount);
  const all = () => servers.slice(0, count);
  const idOf = async (server: RedisServer) => String(await ask(server, 'CLUSTER', 'MYID'));
  const slotOf = async (key: string) => Number(await ask(await alive(), 'CLUSTER', 'KEYSLOT', key));
  const alive = async (): Promise<RedisServer> => {
    for (const server of all()) {
      if ((await ask(server, 'PING').catch(() => undefined)) === 'PONG') return server;
    }
    throw new Error('no node of the cluster answers');
  };

  try {
    const started = await Promise.allSettled(Array.from({ length: count }, startNode));
    for (const one of started) if (one.status === 'fulfilled') servers.push(one.value);
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    await join(servers, busPorts);
  } catch (error) {
    await stop();
    throw error;
  }

  /** By how it sees the cluster. */
  const viewOf = async (server: RedisServer) =>
    parseNodes(String(await ask(server, 'CLUSTER', 'NODES')));
  const ownerSeenBy = async (server: RedisServer, slot: number): Promise<number | undefined> =>
    (await viewOf(server)).find((node) => node.slots.some(([a, b]) => a <= slot && slot <= b))
      ?.port;
  const views = async (slot: number): Promise<number[]> => {
    const seen = await Promise.all(
      all().map((server) => ownerSeenBy(server, slot).catch(() => undefined)),
    );
    return seen.filter((port) => port !== undefined);
  };
  const byPort = (port: number | undefined): RedisServer => {
    const server = servers.find((one) => one.port === port);
    if (server === undefined) throw new Error(`no server listens on ${port}`);
    return server;
  };
  const ownerOf = async (key: string): Promise<RedisServer> => {
    const seen = await views(await slotOf(key));
    const times = (port: number) => seen.filter((one) => one === port).length;
    return byPort([...seen].sort((one, other) => times(other) - times(one))[0]);
  };
  const replicasOf = async (master: RedisServer): Promise<readonly RedisServer[]> => {
    const view = await viewOf(await alive());
    const id = view.find(({ port }) => port === master.port)?.id;
    return view.filter(({ masterId }) => masterId === id).map(({ port }) => byPort(port));
  };
  const succeeded = async (key: string, former: RedisServer): Promise<RedisServer> => {
    const slot = await slotOf(key);
    await untilReached('a new owner of the slot', async () => {
      const seen = await views(slot);
      return seen.length > masterCount - 1 && seen.every((port) => port !== former.port);
    });
    return ownerOf(key);
  };

  const promote = async (key: string, ...how: string[]): Promise<RedisServer> => {
    const former = await ownerOf(key);
    const [replica] = await replicasOf(former);
    if (replica === undefined) throw new Error('the owner has no replica');
    await ask(replica, 'CLUSTER', 'FAILOVER', ...how);
    return succeeded(key, former);
  };

  const cluster: RedisCluster = {
    url: `redis+cluster://${servers
      .slice(0, masterCount)
      .map(({ port }) => `${host}:${port}`)
      .join(',')}`,
    servers,
    ownerOf,
    familyOf(key) {
      // Where `join` puts them.
      const index = Math.floor(((slotOfKey(key) + 1) * masterCount - 1) / slotCount);
      return servers.filter((_, number) => number % masterCount === index);
    },
    replicasOf,
    succeeded,
    idOf,
    slotOf,
    failover: (key) => promote(key, 'TAKEOVER'),
    handOver: (key) => promote(key),
    settled: () => untilReached('a whole cluster', () => isWhole(all(), replicaCount)),
    stop,
  };
  try {
    await cluster.settled();
  } catch (error) {
    await stop();
    throw error;
  }
  return cluster;
}

async function join(
  servers: readonly RedisServer[],
  busPorts: ReadonlyMap<RedisServer, number>,
): Promise<void> {
  const masters = servers.slice(0, masterCount);
  for (const [index, server] of servers.entries())
    await ask(server, 'CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  for (const [index, master] of masters.entries()) {
    const first = Math.floor((slotCount * index) / masterCount);
    const last = Math.floor((slotCount * (index + 1)) / masterCount) - 1;
    await ask(master, 'CLUSTER', 'ADDSLOTSRANGE', String(first), String(last));
  }
  const [first] = masters as [RedisServer];
  for (const server of servers.slice(1))
    await ask(server, 'CLUSTER', 'MEET', host, String(first.port), String(busPorts.get(first)));
  await untilReached('all nodes knowing each other', async () => {
    const known = await Promise.all(
      servers.map(async (server) => String(await ask(server, 'CLUSTER', 'NODES'))),
    );
    return known.every((text) => parseNodes(text).length === servers.length);
  });
  for (const [index, replica] of servers.slice(masterCount).entries()) {
    const master = masters[index % masterCount] as RedisServer;
    await ask(replica, 'CLUSTER', 'REPLICATE', String(await ask(master, 'CLUSTER', 'MYID')));
  }
}

async function isWhole(servers: readonly RedisServer[], replicaCount: number): Promise<boolean> {
  for (const server of servers) {
    const info = String(await ask(server, 'CLUSTER', 'INFO'));
    if (!info.includes('cluster_state:ok')) return false;
    const view = parseNodes(String(await ask(server, 'CLUSTER', 'NODES')));
    if (view.some(({ hasFailed }) => hasFailed)) return false;
    if (view.filter(({ masterId }) => masterId !== undefined).length !== masterCount * replicaCount)
      return false;
    const replication = String(await ask(server, 'INFO', 'replication'));
    if (/role:slave/.test(replication) && !/master_link_status:up/.test(replication)) return false;
  }
  return true;
}

interface SeenNode {
  readonly id: string;
  readonly port: number;
  readonly masterId: string | undefined;
  readonly hasFailed: boolean;
  readonly slots: readonly (readonly [number, number])[];
}

/** `<id> <ip:port@bus> <flags> <master or -> <ping> <pong> <epoch> <link> <slots>...` */
function parseNodes(text: string): readonly SeenNode[] {
  return text
    .trim()
    .split('\n')
    .filter((line) => !/handshake|noaddr/.test(line))
    .map((line) => {
      const [id = '', address = '', flags = '', master, , , , , ...slots] = line.trim().split(' ');
      const ranges = slots.filter((slot) => /^\d/.test(slot)).map((slot) => slot.split('-'));
      return {
        id,
        port: Number(/:(\d+)@/.exec(address)?.[1]),
        masterId: master === '-' ? undefined : master,
        hasFailed: /fail/.test(flags),
        slots: ranges.map(([first, last = first]) => [Number(first), Number(last)] as const),
      };
    });
}
