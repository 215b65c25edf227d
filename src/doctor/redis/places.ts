import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import type { RedisNode } from '../../drivers/redis/client.js';
import { addressOf } from '../../drivers/redis/endpoint.js';
import { openIoredis } from '../../drivers/redis/ioredis.js';
import { parseRedisUrl, type RedisUrl } from '../../drivers/redis/url.js';
import { isLoopback } from '../way.js';
import type { Place } from './look.js';

/** The servers of a URL, without whatever the driver refuses of them: what is wrong is to be said here. */
export class Places {
  readonly url: RedisUrl;

  /** @throws {OptionError} naming what is wrong with the URL, and nothing of it. */
  constructor(url: string) {
    this.url = parseRedisUrl(url);
  }

  /** The one of a `redis://` URL. */
  get single(): Place {
    if (this.url.topology !== 'single') throw new Error('there are several');
    return this.at(this.url.place);
  }

  at(endpoint: Endpoint): Place {
    const { login } = this.url;
    const db = this.url.topology === 'cluster' ? 0 : this.url.db;
    return {
      ...this.#way(endpoint),
      hasPassword: login.password !== undefined,
      user: login.username ?? 'default',
      node: {
        address: addressOf(endpoint, db, login.tls),
        open: (timeoutMs) => openIoredis({ ...endpoint, db, ...login }, timeoutMs),
      },
    };
  }

  /** A sentinel, which has users of its own: none is named in a URL. */
  sentinelAt(endpoint: Endpoint): RedisNode {
    const { tls } = this.url.login;
    const options = { ...endpoint, ...(tls !== undefined && { tls }) };
    return {
      address: `sentinel ${endpointText(endpoint)}`,
      isTls: tls !== undefined,
      open: (timeoutMs) => openIoredis(options, timeoutMs),
    };
  }

  #way({ host }: Endpoint): Pick<Place, 'host' | 'isTls' | 'isLocal'> {
    return { host, isTls: this.url.login.tls !== undefined, isLocal: isLoopback(host) };
  }
}
