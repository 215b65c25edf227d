import { defineScript } from '../../../drivers/redis/index.js';
import { historyLifeMs } from '../../history.js';
import { histories, indexes, indexTtls, records, termLifeMs } from '../../redis/index.js';

/**
 * Gives a node leases that a majority has just extended and that are missing here, so that they outlast the failure of
 * other nodes.
 *
 * - KEYS: the last term; the suspensions; n leases; n histories; g indexes. ARGV: n; then for each lease: its text, how long
 *   the key has to live in ms, name, number of its index.
 * - Returns nothing.
 * - Clock: that of the keys' expiry, and the node's for the end of an older line of history.
 * - Keeps true: only a name that is free here and not suspended is given anything. It is no vote for anybody.
 */
export const adoptScript = defineScript(
  'adopt',
  `${records}
${indexes}
${histories}
local count = tonumber(ARGV[2])
local firstIndex = 2 + 2 * count
local suspensionOf = suspensionsIn(KEYS[2])
local last = tonumber(pcall('GET', KEYS[1]) or '0') or 0

local function adopt(i)
  local at = 3 + (i - 1) * 4
  local text, life, name, index = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  local lease, standing = parseLease(text), look(KEYS[2 + i])
  if not lease or (standing and standing.state ~= 'over') or suspensionOf(name) then return end
  if tonumber(lease.term) > last then
    last = tonumber(lease.term)
    call('SET', KEYS[1], lease.term, 'PX', number(math.max(last - now, 0) + ${termLifeMs}))
  end
  if lease.kept > 0 then
    local history = KEYS[2 + count + i]
    local id, grantedAt = string.match(lease.holder, '^[^:]+'), string.match(text, '^2%a|%d+|[^|]+|%d+|%d+|%d+|%x+|(%d+)|')
    closeLine(history, lease.term)
    local newest = pcall('LINDEX', history, -1)
    local line = table.concat({ '1T', lease.term, id, grantedAt, '', '' }, '|')
    if newest ~= line then note(history, line) end
    pcall('PEXPIRE', history, ${historyLifeMs})
  end
  call('SET', KEYS[2 + i], text, 'PX', life)
  enter(KEYS[firstIndex + index], name, lease.ttl * ${indexTtls} + lease.grace)
end
for i = 1, count do adopt(i) end
return false
`,
);
