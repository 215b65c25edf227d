import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { registerStreamConformance } from '../../../src/streams/conformance/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { redisStreamTarget } from './redis-target.js';

/** The rights that the documentation tells an operator to grant for streams; the suite runs with these and no others. */
function documentedRights(): string[] {
  const protocol = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');
  const section = protocol.split('\n## ').find((text) => text.startsWith('Ordered streams')) ?? '';
  const rights = section.slice(section.indexOf('**Rights**'));
  return rights.match(/[~&]\{tenure:\*|\+[a-z]+/g) ?? [];
}

let server: RedisServer;

beforeAll(async () => {
  const args = ['--user', 'tenure', 'on', '>secret', ...documentedRights()];
  server = await startRedis({ appendonly: 'always', args });
});
afterAll(() => server.stop());

registerStreamConformance(
  redisStreamTarget('redis, with no more rights than it needs', () => server, 'tenure:secret@'),
  { describe, it },
);
