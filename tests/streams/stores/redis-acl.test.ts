import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerStreamConformance } from '../../../src/streams/conformance/index.js';
import { documentedUser } from '../../support/documented-rights.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisStreamTarget } from './redis-target.js';

let server: RedisServer;

/* The rights that the documentation tells an operator to grant for streams; the suite runs with these and no others. */
beforeAll(async () => {
  // On its command line, so that a server that restarts has it still.
  const rules = documentedUser('secret', ['streams']).flatMap(([, , , ...words]) => words);
  server = await startRedis({ appendonly: 'always', args: ['--user', 'tenure', ...rules] });
});
afterAll(() => server.stop());

registerStreamConformance(
  redisStreamTarget('redis, with no more rights than it needs', () => server, 'tenure:secret@'),
  { describe, it },
);
