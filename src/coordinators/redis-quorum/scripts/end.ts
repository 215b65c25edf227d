import { defineScript } from '../../../drivers/redis/index.js';
import { endScript } from '../../redis/index.js';

/** How many lines of a history may have followed that of the term that just ended. */
const followingCount = 3;

/**
 * Ends leases as a single server does; the lines of the terms that end have the time that was given, which is the same at
 * every node.
 *
 * - KEYS and ARGV: those of `end`; last the time in Unix ms. Returns the same.
 */
export const endAtScript = defineScript(
  'end',
  `
local stamp = table.remove(ARGV)
local function endAll()
${endScript.body}
end
local reply = endAll()
local justNow = '^(1T|%d+|[^|]+|%d+|)' .. number(now) .. '(|.*)$'
for i = 1, tonumber(ARGV[2]) do
  local history = KEYS[1 + tonumber(ARGV[2]) + i]
  for at = -1, ${-followingCount}, -1 do
    local line = reply[i] == 'ended' and pcall('LINDEX', history, at)
    local head, rest = string.match(type(line) == 'string' and line or '', justNow)
    if head then call('LSET', history, at, head .. stamp .. rest) end
  end
end
return reply
`,
);
