import type { Coordinator } from '../coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../coordinators/memory/index.js';
import { OptionError, redactSecrets } from '../errors/index.js';
import type { StreamStore } from '../streams/contract.js';
import { MemoryStreams, memoryStreams } from '../streams/memory/index.js';
import { addressOf } from './failure.js';

/** Where leases and messages are kept: one namespace of one store, with as many clients as there are processes. */
export interface Stores {
  /** For people: never with a password. */
  readonly address: string;
  /** Whether only this process can see it. */
  readonly isLocal: boolean;
  /** A client of its own for the caller, who closes it. */
  openCoordinator(): Coordinator;
  /** As {@link openCoordinator}, for the logs of one topic. */
  openStreams(topic: string): StreamStore;
  /** Removes whatever the namespace holds. Close its clients first. */
  erase(): Promise<void>;
}

export const defaultUrl = 'memory:';
/** Why a URL is not taken as it stands. */
const knownUrls = 'use memory:, redis://host:port or rediss://host:port';

/** Loads the driver that the URL asks for, and no other. Connects nothing yet. @throws {OptionError} */
export async function openStores(url: string, namespace: string): Promise<Stores> {
  switch (schemeOf(url, '--url', knownUrls)) {
    case 'memory:':
      checkMemoryUrl(url, '--url');
      return memoryStores();
    case 'redis:':
    case 'rediss:':
      if (new URL(url).host === '')
        throw new OptionError('--url', addressOf(url), 'names no host', knownUrls);
      return await redisStores(url, namespace);
    default:
      throw unknownScheme('--url', url, knownUrls);
  }
}

/** @throws {OptionError} if it is no URL at all. */
export function schemeOf(url: string, option: string, remedy: string): string {
  if (URL.canParse(url)) return new URL(url).protocol;
  // A misplaced @ or # puts the password anywhere in the text, so none of it is shown.
  throw new OptionError(option, 'hidden', 'is not a URL', remedy);
}

export function unknownScheme(option: string, url: string, remedy: string): OptionError {
  return new OptionError(
    option,
    redactSecrets(addressOf(url)),
    'names no store known here',
    remedy,
  );
}

/** A memory has no address: whoever writes one means another store. @throws {OptionError} */
export function checkMemoryUrl(url: string, option: string): void {
  if (new URL(url).href === defaultUrl) return;
  const remedy = `use ${defaultUrl}, which is one store within this process, or the URL of a server`;
  throw new OptionError(option, redactSecrets(addressOf(url)), 'names a memory elsewhere', remedy);
}

function memoryStores(): Stores {
  const store = new MemoryStore();
  const topics = new Map<string, MemoryStreams>();
  return {
    address: defaultUrl,
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

async function redisStores(url: string, namespace: string): Promise<Stores> {
  const [{ redisCoordinator }, { redisStreams }, { eraseLeases }, { eraseStreams }] =
    await Promise.all([
      import('../coordinators/redis/index.js'),
      import('../streams/redis/index.js'),
      import('../coordinators/redis/erase.js'),
      import('../streams/redis/erase.js'),
    ]);
  // What is wrong with the rest of the URL is said before anything is begun.
  await redisCoordinator(url, { namespace }).close();
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
