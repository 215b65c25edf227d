import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import {
  type RedisCoordinator,
  type RedisCoordinatorOptions,
  redisCoordinator,
} from '../../src/redis.js';
import {
  type RedisCluster,
  type RedisSentinels,
  type RedisServer,
  startRedisCluster,
  startRedisSentinels,
} from '../support/servers/index.js';
import { ask } from '../support/servers/redis-replication.js';
import { ann, renew, take } from './redis-failover-fixture.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
const documented = /^ACL SETUSER .*$/m.exec(readFileSync(protocol, 'utf8'))?.[0] ?? '';
const password = 'least-rights';
const [, ...rights] = documented.replace('PASSWORD', password).split(' ');
const login = `tenure:${password}@`;

/* Which rights finding the master takes beside those that the leases need. */
describe('with the rights that docs/protocol.md lists,', () => {
  let set: RedisSentinels;
  let cluster: RedisCluster;
  const clients: RedisCoordinator[] = [];

  beforeAll(async () => {
    [set, cluster] = await Promise.all([
      startRedisSentinels({ replicaCount: 1, downAfterMs: 60_000 }),
      startRedisCluster({ replicaCount: 0, nodeTimeoutMs: 10_000 }),
    ]);
    for (const server of [...set.servers, ...cluster.servers]) await ask(server, 'ACL', ...rights);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  afterAll(() => Promise.all([set.stop(), cluster.stop()]));

  const connect = (url: string, options: RedisCoordinatorOptions = {}) => {
    const client = redisCoordinator(url.replace('//', `//${login}`), options);
    clients.push(client);
    return client;
  };
  const allow = (servers: readonly RedisServer[], ...more: string[]) =>
    Promise.all(servers.map((server) => ask(server, 'ACL', 'SETUSER', 'tenure', ...more)));
  const works = async (client: RedisCoordinator, name: string) => {
    const term = await take(client, name, ann);
    expect(await renew(client, name, ann, term)).toBe('renewed');
  };

  it('sentinels, and a user of theirs that may ask for the master', async () => {
    const user = ['SETUSER', 'asking', 'on', '>asks', '-@all'];
    const may = ['+sentinel|get-master-addr-by-name', '+client|setname'];
    for (const { port } of set.sentinels)
      await ask({ ...(set.servers[0] as RedisServer), port }, 'ACL', ...user, ...may);
    const sentinelLogin = { sentinelUsername: 'asking', sentinelPassword: 'asks' };
    await works(connect(set.url, sentinelLogin), 'sentinels');
    for (const { port } of set.sentinels)
      await ask({ ...(set.servers[0] as RedisServer), port }, 'ACL', ...user);
    const denied = connect(set.url, sentinelLogin).read(['job'], { timeoutMs: 30_000 });
    await expect(denied).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(denied).rejects.toThrow('sentinelUsername');
  });

  it('a cluster, and CLUSTER SLOTS', async () => {
    const denied = connect(cluster.url).read(['job'], { timeoutMs: 30_000 });
    await expect(denied).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(denied).rejects.toThrow('CLUSTER SLOTS');
    await allow(cluster.servers, '+cluster|slots');
    await works(connect(cluster.url), 'cluster');
  });

  it('a replica that is waited for, and WAIT', async () => {
    const denied = take(connect(set.url, { replicas: 1 }), 'replica', ann);
    await expect(denied).rejects.toThrow('WAIT is denied');
    await allow(set.servers, '+wait');
    await works(connect(set.url, { replicas: 1 }), 'replica');
  });

  it('or ROLE in the place of INFO', async () => {
    await allow(set.servers, '-info');
    const denied = connect(set.url).read(['job'], { timeoutMs: 30_000 });
    await expect(denied).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(denied).rejects.toThrow('INFO or to ROLE');
    await allow(set.servers, '+role');
    const client = connect(set.url);
    const warnings: string[] = [];
    client.on('warning', ({ message }) => warnings.push(message));
    await works(client, 'role');
    expect(warnings.join()).toContain('INFO is denied');
    await allow(set.servers, '+info', '-role');
  });
});
