/**
 * Opens the store that a URL names, by the package as it was built: for programs of tests.
 *
 * @param {string} url
 * @param {{ readonly namespace: string, readonly connectTimeoutMs?: number }} options
 * @returns {Promise<import('tenure').Coordinator>}
 */
export async function connect(url, { namespace, connectTimeoutMs }) {
  const options = { namespace, ...(connectTimeoutMs !== undefined && { connectTimeoutMs }) };
  switch (/^\w+(?:\+quorum)?/.exec(url)?.[0]) {
    case 'sqlite':
      return (await import('tenure/sqlite')).sqliteCoordinator(url, { namespace });
    case 'postgres':
      return (await import('tenure/postgres')).postgresCoordinator(url, options);
    case 'etcd':
      return (await import('tenure/etcd')).etcdCoordinator(url, { namespace });
    case 'zookeeper':
      return (await import('tenure/zookeeper')).zookeeperCoordinator(url, options);
    case 'redis+quorum':
      return (await import('tenure/redis')).redisQuorumCoordinator(url, { namespace });
    default:
      return (await import('tenure/redis')).redisCoordinator(url, options);
  }
}
