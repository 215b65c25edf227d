import type { Coordinator } from '../src/coordinators/index.js';
import { etcdCoordinator } from '../src/etcd.js';
import { postgresCoordinator } from '../src/postgres.js';
import { redisCoordinator, redisQuorumCoordinator } from '../src/redis.js';
import { zookeeperCoordinator } from '../src/zookeeper.js';

/** A client of the store that the URL names, as a user makes it. */
export function openCoordinator(url: string, namespace: string): Coordinator {
  switch (/^\w+(?:\+quorum)?/.exec(url)?.[0]) {
    case 'postgres':
      return postgresCoordinator(url, { namespace });
    case 'etcd':
      return etcdCoordinator(url, { namespace });
    case 'zookeeper':
      return zookeeperCoordinator(url, { namespace });
    case 'redis+quorum':
      return redisQuorumCoordinator(url, { namespace });
    default:
      return redisCoordinator(url, { namespace });
  }
}
