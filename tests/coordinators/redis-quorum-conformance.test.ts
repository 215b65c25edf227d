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

/** Cases that restart the servers or step their clocks have them for themselves; the others wait side by side. */
const alone = conformanceCases
  .filter(({ needs }) => needs.some((need) => /^(?:restart|loseTail|stepClock)/.test(need)))
  .map(({ id }) => id);

registerCoordinatorConformance(
  redisQuorumTarget('redis quorum', () => servers),
  {
    describe,
    it: (title, run) =>
      alone.some((id) => title.startsWith(`${id}:`))
        ? it.sequential(title, run)
        : it.concurrent(title, run),
  },
);
