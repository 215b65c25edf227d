import { startRedisQuorum } from '../../support/servers/redis-quorum.js';
import type { Stage } from '../stage.js';
import {
  dataFaults,
  password,
  passwordChanged,
  serverFaults,
  user,
  userArgs,
} from './redis-server.js';
import { timingOf } from './timing.js';
import { addressOf, Ways } from './ways.js';

/** Three masters that know nothing of each other. */
export async function redisQuorumStage(): Promise<Stage> {
  const set = await startRedisQuorum(3, { clock: true, args: userArgs });
  const { nodes } = set;
  const ways = new Ways();
  const pick = async (place: number) => {
    const node = nodes[Math.floor(place * nodes.length)];
    if (node === undefined) throw new Error('there is no node');
    return node;
  };
  const two = (place: number) =>
    nodes.filter((_, index) => index !== Math.floor(place * nodes.length));
  return {
    timing: timingOf(4_000),
    async connect() {
      const proxies = await ways.to(nodes);
      const hosts = proxies.map(addressOf).join(',');
      return { connection: { url: `redis+quorum://${user}:${password}@${hosts}` }, proxies };
    },
    disturbances: {
      ...serverFaults(pick),
      ...dataFaults(pick),
      'password changed': passwordChanged(async () => nodes),
      async 'majority frozen'(_, { place }) {
        for (const node of two(place)) node.freeze();
        return async () => {
          for (const node of two(place)) node.thaw();
        };
      },
      async 'all killed'() {
        await Promise.all(nodes.map((node) => node.kill()));
        return async () => {
          await Promise.all(nodes.map((node) => node.restart({ keepData: true })));
        };
      },
    },
    async stop() {
      await ways.stop();
      await set.stop();
    },
  };
}
