import { RedisKeys } from '../../../src/coordinators/redis/keys.js';
import { startRedisCluster } from '../../support/servers/redis-cluster.js';
import { electionName, type Stage } from '../stage.js';
import { failoverFaults } from './failover.js';
import { password, passwordChanged, serverFaults, user, userArgs } from './redis-server.js';
import { timingOf } from './timing.js';
import { addressOf, hostsOf, Ways } from './ways.js';

const ttlMs = 3_000;

/** Three masters, each with a replica. What happens, happens where the records of the run are. */
export async function redisClusterStage(namespace: string): Promise<Stage> {
  const cluster = await startRedisCluster({
    server: { clock: true, appendonly: 'everysec', args: userArgs },
  });
  const ways = new Ways();
  const key = new RedisKeys(namespace).place(electionName).lease;
  const owner = () => cluster.ownerOf(key);
  return {
    timing: timingOf(ttlMs),
    async connect() {
      const proxies = await ways.to(cluster.servers);
      const told = cluster.servers.map((server, index) => [
        addressOf(server),
        addressOf(proxies[index] ?? server),
      ]);
      const url = `redis+cluster://${user}:${password}@${hostsOf(proxies.slice(0, 3))}`;
      return { connection: { url, addresses: Object.fromEntries(told) }, proxies };
    },
    disturbances: {
      ...serverFaults(owner),
      'password changed': passwordChanged(async () => cluster.servers),
      ...failoverFaults({
        master: owner,
        settled: () => cluster.settled(),
        async failOver() {
          await cluster.failover(key);
        },
      }),
      async 'slots handed over'() {
        await cluster.settled();
        await cluster.handOver(key);
        return async () => {};
      },
    },
    async stop() {
      await ways.stop();
      await cluster.stop();
    },
  };
}
