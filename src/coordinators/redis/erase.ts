import { defineScript, RedisConnection, redisSource } from '../../drivers/redis/index.js';
import { encodeName, validateName } from '../names.js';

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
 * Deletes everything a namespace holds on a server: leases, terms, documents, logs of all its topics.
 *
 * For namespaces of one run only, whose clients are all gone: without the last term, later terms rise above earlier ones
 * only as far as the server's clock did.
 *
 * @throws {OptionError}, {@link UnreachableError}, {@link OutcomeUnknownError}; repeating it is harmless.
 */
export async function eraseNamespace(url: string, namespace: string): Promise<void> {
  // An encoded name holds no character that means something in a pattern.
  const pattern = `{tenure:${encodeName(validateName(namespace, 'namespace'))}[}:]*`;
  const connection = new RedisConnection(redisSource(url));
  try {
    let cursor = '0';
    do {
      cursor = String(await connection.run(eraseScript, [], [cursor, pattern], callTimeoutMs));
    } while (cursor !== '0');
  } finally {
    await connection.close();
  }
}
