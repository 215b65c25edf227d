import { resolve } from 'node:path';
import type { Coordinator } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';
import type { StreamStore } from '../streams/contract.js';
import { schemaOf, withSchema } from './postgres-url.js';
import { defaultSource } from './settings/setting.js';
import type { SharedKind } from './store-kinds.js';
import {
  addressOf,
  checkUrl,
  filePathOf,
  memoryUrl,
  messageRemedy,
  storeKindOf,
} from './store-url.js';

/** Where leases are kept: one namespace of one store, with as many clients as there are processes. */
export interface Stores {
  /** For people: never with a password. */
  readonly address: string;
  /** Whether only this process can see it. */
  readonly isLocal: boolean;
  /** A client of its own for the caller, who closes it. */
  openCoordinator(): Coordinator;
}

/** A store that keeps messages too. */
export interface MessageStores extends Stores {
  /** As {@link openCoordinator}, for the logs of one topic. */
  openStreams(topic: string): StreamStore;
  /** Removes whatever the namespace holds. Close its clients first. */
  erase(): Promise<void>;
}

/**
 * Loads the driver that the URL asks for, and no other. Connects nothing yet.
 *
 * @param source what the URL was written in, named by errors.
 * @throws {OptionError}
 */
export async function openStores(
  url: string,
  namespace: string,
  source = '--url',
): Promise<Stores> {
  checkUrl(url, source);
  const kind = storeKindOf(url, source);
  switch (kind) {
    case 'sqlite':
      return await sqliteStores(url, namespace, source);
    case 'memory':
    case 'redis':
      return await openMessageStores(url, namespace, source);
    default: {
      const openCoordinator = await leaseStore(kind, url, namespace);
      // What is wrong with the rest of the URL is said before anything is begun.
      await (await naming(placesIn(source), openCoordinator)).close();
      return { address: addressOf(url), isLocal: false, openCoordinator };
    }
  }
}

/** As {@link openStores}, for what needs messages kept as well. */
export async function openMessageStores(
  url: string,
  namespace: string,
  source = '--url',
): Promise<MessageStores> {
  checkUrl(url, source, messageRemedy);
  const kind = storeKindOf(url, source);
  if (kind === 'memory') return await memoryStores();
  if (kind === 'redis') return await redisStores(url, namespace, source);
  throw new OptionError(source, addressOf(url), 'keeps leases, and no messages', messageRemedy);
}

/** Loads the store of this kind, with its driver. */
async function leaseStore(
  kind: Exclude<SharedKind, 'sqlite' | 'redis'>,
  url: string,
  namespace: string,
): Promise<() => Coordinator> {
  switch (kind) {
    case 'postgres': {
      const { postgresCoordinator } = await import('../coordinators/postgres/index.js');
      const schema = schemaOf(url);
      const options = schema === undefined ? { namespace } : { namespace, schema };
      return () => postgresCoordinator(withSchema(url, undefined), options);
    }
    case 'etcd': {
      const { etcdCoordinator } = await import('../coordinators/etcd/index.js');
      return () => etcdCoordinator(url, { namespace });
    }
    case 'zookeeper': {
      const { zookeeperCoordinator } = await import('../coordinators/zookeeper/index.js');
      return () => zookeeperCoordinator(url, { namespace });
    }
    case 'quorum': {
      const { redisQuorumCoordinator } = await import('../coordinators/redis-quorum/index.js');
      return () => redisQuorumCoordinator(url, { namespace });
    }
    case 'sentinel':
    case 'cluster': {
      const { redisCoordinator } = await import('../coordinators/redis/index.js');
      return () => redisCoordinator(url, { namespace });
    }
  }
}

async function memoryStores(): Promise<MessageStores> {
  const [{ MemoryStore, memoryCoordinator }, { MemoryStreams, memoryStreams }] = await Promise.all([
    import('../coordinators/memory/index.js'),
    import('../streams/memory/index.js'),
  ]);
  const store = new MemoryStore();
  const topics = new Map<string, InstanceType<typeof MemoryStreams>>();
  return {
    address: memoryUrl,
    isLocal: true,
    openCoordinator: () => memoryCoordinator(store),
    openStreams(topic) {
      const state = topics.get(topic) ?? new MemoryStreams();
      topics.set(topic, state);
      return memoryStreams(state);
    },
    async erase() {},
  };
}

async function sqliteStores(url: string, namespace: string, source: string): Promise<Stores> {
  const { sqliteCoordinator } = await import('../coordinators/sqlite/index.js');
  const path = resolve(filePathOf(url, source));
  // The folder of the default is ours to make; that of another file may be a typing error.
  const createDirectory = source === defaultSource;
  return {
    address: `sqlite:${path}`,
    isLocal: false,
    openCoordinator: () => sqliteCoordinator(path, { namespace, createDirectory }),
  };
}

async function redisStores(url: string, namespace: string, source: string): Promise<MessageStores> {
  const [{ redisCoordinator }, { redisStreams }, { eraseLeases }, { eraseStreams }] =
    await Promise.all([
      import('../coordinators/redis/index.js'),
      import('../streams/redis/index.js'),
      import('../coordinators/redis/erase.js'),
      import('../streams/redis/erase.js'),
    ]);
  // What is wrong with the rest of the URL is said before anything is begun.
  const first = await naming(placesIn(source), () => redisCoordinator(url, { namespace }));
  await first.close();
  return {
    address: addressOf(url),
    isLocal: false,
    openCoordinator: () => redisCoordinator(url, { namespace }),
    openStreams: (topic) => redisStreams(url, { namespace, topic }),
    async erase() {
      await eraseStreams(url, namespace);
      await eraseLeases(url, namespace);
    },
  };
}

/**
 * A store knows the URL as its option `url`, and what its parameters say by their names; the user wrote them elsewhere.
 *
 * @param places where each option of the store was written.
 */
export async function naming<Opened>(
  places: Readonly<Record<string, string>>,
  open: () => Opened | Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const place = places[error.option];
    if (place === undefined) throw error;
    const said = error.message.slice(`${error.option} `.length, -`: ${error.remedy}`.length);
    const problem = said.replace(/ \(got .*\)$/s, '');
    throw new OptionError(place, 'hidden', problem, error.remedy);
  }
}

/** The options of stores that a URL speaks of: as a whole, or by a parameter. */
function placesIn(source: string): Readonly<Record<string, string>> {
  const parameters = ['schema', 'ca', 'cert', 'key', 'serverName'];
  return Object.fromEntries([
    ['url', source],
    ...parameters.map((name) => [name, `${source}: ${name}`]),
  ]);
}
