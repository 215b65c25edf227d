import { RedisConnection } from './connection.js';
import { defineScript } from './script.js';
import { type RedisSourceOptions, redisSource } from './source.js';

/**
 * Removes some of the keys that match a pattern.
 *
 * - KEYS: none; it finds them. On one server that is allowed, and it is for throw-away namespaces only.
 * - ARGV: cursor; pattern.
 * - Returns the next cursor, `0` after the last.
 * - Clock: none.
 * - Keeps true: what does not match is not touched.
 */
const eraseScript = defineScript(
  'erase',
  `
local reply = call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', 1000)
for _, key in ipairs(reply[2]) do call('UNLINK', key) end
return reply[1]
`,
);

const callTimeoutMs = 5_000;

/**
 * Deletes every key on a server that matches a pattern, whoever owns it. On a cluster, the pattern has to begin with the
 * hash tag that all of the keys have.
 *
 * @throws {OptionError}, {@link UnreachableError}, {@link OutcomeUnknownError}; repeating it is harmless.
 */
export async function eraseKeys(
  url: string,
  pattern: string,
  options: RedisSourceOptions = {},
): Promise<void> {
  const connection = new RedisConnection(redisSource(url, options), { slotKey: pattern });
  try {
    let cursor = '0';
    do {
      cursor = String(await connection.run(eraseScript, [], [cursor, pattern], callTimeoutMs));
    } while (cursor !== '0');
  } finally {
    await connection.close();
  }
}
