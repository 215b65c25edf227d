import { afterAll, beforeAll, describe, it } from 'vitest';
import { conformanceCases } from '../../src/coordinators/conformance/cases/index.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/redis-quorum.js';
import { redisQuorumTarget } from './redis-quorum-target.js';

let servers: RedisQuorumServers;

beforeAll(async () => {
  servers = await startRedisQuorum(5, { appendonly: 'everysec', clock: true });
});
afterAll(() => servers.stop());

/** Cases that restart the servers or step their clocks have them for themselves. */
const disturbing = conformanceCases
  .filter(({ needs }) => needs.some((need) => /^(?:restart|loseTail|stepClock)/.test(need)))
  .map(({ id }) => `${id}:`);
/** And those that keep the machine busy, so that others would see its delays and not the store's. */
const busy = ['batches/', 'grants/race:', 'terms/contended:', 'documents/', 'history/bounded:'];
const alone = [...disturbing, ...busy];

// The others mostly wait, and do so side by side.
registerCoordinatorConformance(
  redisQuorumTarget('redis quorum', () => servers),
  {
    describe,
    it: (title, run) =>
      alone.some((start) => title.startsWith(start))
        ? it.sequential(title, run)
        : it.concurrent(title, run),
  },
);
