import { defineScript } from '../../../drivers/redis/index.js';
import { records, termLifeMs } from '../../redis/index.js';
import { claims } from './take-back.js';

/**
 * Gives the claims of one attempt, which a majority has given, the one term that the lease will have.
 *
 * - KEYS: the last term; n leases. ARGV: n; then for each: holder, attempt, term. Returns nothing.
 * - Keeps true: only claims change, and neither their holder nor their time; the last term never falls. Whoever asks with the
 *   attempt again finds a majority agreed.
 */
export const settleScript = defineScript(
  'settle',
  `${records}
${claims}
local last = tonumber(pcall('GET', KEYS[1]) or '0') or 0
for i = 1, tonumber(ARGV[2]) do
  local at, record = 3 + (i - 1) * 3, look(KEYS[1 + i])
  local isMeant = record and isClaim(record) and record.kind == 'L'
    and record.holder == ARGV[at] and record.attempt == ARGV[at + 1]
  if isMeant then
    local term = tonumber(ARGV[at + 2])
    if term > last then
      last = term
      call('SET', KEYS[1], number(term), 'PX', number(math.max(term - now, 0) + ${termLifeMs}))
    end
    local rest = string.match(record.text, '^2L|%d+|(.*)$')
    call('SET', KEYS[1 + i], '2L|' .. number(term) .. '|' .. rest, 'KEEPTTL')
  end
end
return false
`,
);
