import type { RedisScript } from '../../../drivers/redis/index.js';
import { derived } from './derived.js';

/** What a script answers in place of its own reply. */
export const isOfQuorum = 'of a quorum';

const alone = new Map<RedisScript, RedisScript>();

/**
 * The same script as it runs at a server that is no node of a quorum.
 *
 * - KEYS: those of the script; last the marker of a quorum's node. ARGV: those of the script.
 * - Returns what the script returns; or `of a quorum`, if there is a marker, after which nothing was done.
 * - Keeps true: what one node of a quorum grants alone, or shows, the others do not know of; so it grants and shows nothing.
 */
export function unlessOfQuorum(script: RedisScript): RedisScript {
  return derived(
    alone,
    script,
    () => `
if call('EXISTS', table.remove(KEYS)) == 1 then return '${isOfQuorum}' end
${script.body}
`,
  );
}
