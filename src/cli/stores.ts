import { resolve } from 'node:path';
import type { Coordinator } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';
import type { StreamStore } from '../streams/contract.js';
import { openLeaseStore } from './lease-stores.js';
import { naming, placesIn } from './naming.js';
import { defaultSource } from './settings/setting.js';
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
  /** Removes whatever the namespace holds. Close its clients first. */
  erase(): Promise<void>;
}

/** A store that keeps messages too. */
export interface MessageStores extends Stores {
  /** As {@link openCoordinator}, for the logs of one topic. */
  openStreams(topic: string): StreamStore;
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
    case 'sentinel':
      return await openMessageStores(url, namespace, source);
    default: {
      const { open, erase } = await openLeaseStore(kind, url, namespace, source);
      return { address: addressOf(url), isLocal: false, openCoordinator: open, erase };
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
  if (kind === 'redis' || kind === 'sentinel') return await redisStores(url, namespace, source);
  throw new OptionError(source, addressOf(url), 'keeps leases, and no messages', messageRemedy);
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
  const { eraseSqliteLeases } = await import('../coordinators/sqlite/erase.js');
  const path = resolve(filePathOf(url, source));
  // The folder of the default is ours to make; that of another file may be a typing error.
  const createDirectory = source === defaultSource;
  return {
    address: `sqlite:${path}`,
    isLocal: false,
    openCoordinator: () => sqliteCoordinator(path, { namespace, createDirectory }),
    erase: () => eraseSqliteLeases(path, namespace),
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
