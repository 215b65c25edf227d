import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerStreamConformance } from '../../../src/streams/conformance/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisStreamTarget } from './redis-target.js';

/** The smallest set of rights that docs/protocol.md names for streams. */
const rights = [
  '~{tenure:*',
  '&{tenure:*',
  '+eval|evalsha|time|info|ping|subscribe|unsubscribe',
  '+xadd|xdel|xlen|xrange|xrevrange|hget|hset|hlen|get|set|publish',
].flatMap((group) =>
  group.startsWith('+')
    ? group
        .slice(1)
        .split('|')
        .map((command) => `+${command}`)
    : [group],
);

let server: RedisServer;

beforeAll(async () => {
  const args = ['--user', 'tenure', 'on', '>secret', ...rights];
  server = await startRedis({ appendonly: 'always', args });
});
afterAll(() => server.stop());

registerStreamConformance(
  redisStreamTarget('redis, with no more rights than it needs', () => server, 'tenure:secret@'),
  { describe, it },
);
