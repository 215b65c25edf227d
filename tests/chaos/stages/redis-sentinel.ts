import { ask, roleOf } from '../../support/servers/redis-replication.js';
import { type Sentinel, startRedisSentinels } from '../../support/servers/redis-sentinel.js';
import type { Stage } from '../stage.js';
import { failoverFaults } from './failover.js';
import { password, passwordChanged, serverFaults, user, userArgs } from './redis-server.js';
import { timingOf } from './timing.js';
import { addressOf, hostsOf, Ways } from './ways.js';

/** A master, two replicas and three sentinels. */
export async function redisSentinelStage(): Promise<Stage> {
  const set = await startRedisSentinels({
    server: { clock: true, appendonly: 'everysec', args: userArgs },
  });
  const ways = new Ways();
  const master = () => set.master();
  /** Who was started again would follow whom it was told to at first; sentinels take their time to see to that. */
  const settled = async () => {
    const present = await master();
    for (const server of set.servers)
      if (server !== present)
        await ask(server, 'REPLICAOF', present.host, String(present.port)).catch(() => {});
    await set.settled();
  };
  const forceFailover = async () => {
    const [sentinel] = set.sentinels as readonly [Sentinel];
    await ask({ host: '127.0.0.1', port: sentinel.port }, 'SENTINEL', 'FAILOVER', set.masterName);
  };
  return {
    timing: timingOf(3_000),
    async connect() {
      const toSentinels = await ways.to(set.sentinels);
      const toServers = await ways.to(set.servers);
      const url = `redis+sentinel://${user}:${password}@${hostsOf(toSentinels)}/${set.masterName}`;
      const told = set.servers.map((server, index) => [
        addressOf(server),
        addressOf(toServers[index] ?? server),
      ]);
      return {
        connection: { url, addresses: Object.fromEntries(told) },
        proxies: [...toSentinels, ...toServers],
      };
    },
    disturbances: {
      ...serverFaults(master),
      'password changed': passwordChanged(async () => set.servers),
      ...failoverFaults({
        master,
        settled,
        async failOver(former) {
          // Nobody notices by itself that a master is to be replaced that lives.
          if ((await roleOf(former)) === 'master') await forceFailover();
          await set.succeeded(former);
        },
      }),
      async 'sentinel frozen'(_, { place }) {
        const sentinel = set.sentinels[Math.floor(place * set.sentinels.length)];
        sentinel?.freeze();
        return async () => sentinel?.thaw();
      },
    },
    async stop() {
      await ways.stop();
      await set.stop();
    },
  };
}
