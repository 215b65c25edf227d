import type { RedisScript } from '../../../drivers/redis/index.js';
import { derived } from '../../redis/index.js';

const members = new Map<RedisScript, RedisScript>();

/**
 * The same script as a member of a quorum runs it: not at all, unless the node still has its marker.
 *
 * - KEYS: those of the script; last the identity and the marker. ARGV: those of the script; last the text that the marker must have.
 * - Returns `member`, the time, the identity, and what the script returns; or `outsider`, the time, and what stands there instead.
 * - Keeps true: a node that lost its memory has lost its marker with it, so it does nothing.
 */
export function asMember(script: RedisScript): RedisScript {
  return derived(
    members,
    script,
    () => `
local marker, identity, expected = table.remove(KEYS), table.remove(KEYS), table.remove(ARGV)
local standing = pcall('GET', marker)
if standing ~= expected then
  return { 'outsider', number(now), type(standing) == 'string' and standing or false }
end
local memory = pcall('GET', identity)
local function asAlone()
${script.body}
end
return { 'member', number(now), type(memory) == 'string' and memory or '', asAlone() }
`,
  );
}

const stamped = new Map<RedisScript, RedisScript>();

/**
 * The same script with a time from outside in place of the node's own, for what is written down and compared between nodes.
 *
 * - ARGV: last the time in Unix ms. Only for scripts that judge no deadline by it: those go by the TTL of their keys.
 */
export function atStamp(script: RedisScript): RedisScript {
  return derived(
    stamped,
    script,
    () => `
now = tonumber(table.remove(ARGV))
${script.body}
`,
  );
}
