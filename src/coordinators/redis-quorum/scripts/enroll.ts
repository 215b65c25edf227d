import { defineScript } from '../../../drivers/redis/index.js';
import { enrollScript } from '../../redis/index.js';

/**
 * Enters candidates as a single server does; an entry that begins anew has the time that was given, which is the same at
 * every node.
 *
 * - KEYS and ARGV: those of `enroll`; last the time in Unix ms. Returns the same.
 */
export const enrollAtScript = defineScript(
  'enroll',
  `
local stamp = table.remove(ARGV)
local function enrollAll()
${enrollScript.body}
end
local reply = enrollAll()
local fresh = '^(1|[^|]+|%a+|%d+|)' .. number(now) .. '(|.*)$'
for i = 1, tonumber(ARGV[2]) do
  local field = 'd:' .. ARGV[4 + (i - 1) * 7]
  local candidates = KEYS[1 + 2 * tonumber(ARGV[2]) + i]
  local text = pcall('HGET', candidates, field)
  if type(text) == 'string' then
    local head, rest = string.match(text, fresh)
    if head then call('HSET', candidates, field, head .. stamp .. rest) end
  end
end
return reply
`,
);
