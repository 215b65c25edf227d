import { historyCount, historyLifeMs } from '../../history.js';

/**
 * Lua: the lines of a name's history (see `../history.ts` for the texts). Needs `records`.
 *
 * At most one line of a term has no end, and it is the last of its kind. Lines are written before the record that they
 * are about: a missing right then changes nothing else. A key of another type is left alone, and stops nothing: who reads
 * the history is told.
 */
export const histories = `
local function note(key, line)
  if isForeign(pcall('RPUSH', key, line)) then return end
  call('LTRIM', key, ${-historyCount}, -1)
  call('PEXPIRE', key, ${historyLifeMs})
end

-- Ends the line that has no end: that of 'term' as it is said, or not at all if there is no 'endedAt'; that of any other
-- term as vanished.
local function closeLine(key, term, endedAt, reason)
  for i = -1, ${-historyCount}, -1 do
    local line = pcall('LINDEX', key, i)
    if not line or isForeign(line) then return end
    local head, theirTerm = string.match(line, '^(1T|(%d+)|[^|]+|%d+|)|$')
    if head then
      if theirTerm ~= term then endedAt, reason = now, 'vanished' end
      if endedAt then call('LSET', key, i, head .. number(endedAt) .. '|' .. reason) end
      return
    end
    if string.find(line, '^1T|') then return end
  end
end

-- What stands under the name (nothing: it is free) tells how the last term ended, if it has.
local function settle(key, record)
  if not record or not record.term then return closeLine(key) end
  if record.state == 'held' then return closeLine(key, record.term) end
  local reason = record.kind == 'X' and 'revoked' or 'expired'
  closeLine(key, record.term, now + record.left, reason)
end`;
