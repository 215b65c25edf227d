import { defineScript } from '../../../drivers/redis/index.js';
import { highestTerm } from '../../term.js';
import { indexTtls, termLifeMs } from '../limits.js';
import { histories } from './histories.js';
import { indexes } from './indexes.js';
import { records } from './records.js';

/** How many entries of an index one acquire forgets. */
const pruneCount = 8;

/**
 * Grants what is free or reserved for the holder's id.
 *
 * - KEYS: the last term; the suspensions; n leases; n histories; g indexes.
 * - ARGV: n; the highest of all `above`; for each index its wake channel; then for each lease: holder, attempt, ttl in ms,
 *   `above` (0: none), metadata (empty: none), name, number of its index, lock-delay in ms, how long in ms it is remembered
 *   for its history (0: it has none).
 * - Returns `no-term` if terms are used up, `bad-term` if the last term is not one; else the time, and for each lease a
 *   list: `granted`, term | `held`, text, PTTL, text of the suspension or nothing, `repaired` or nothing | `corrupt`,
 *   detail.
 * - Clock: the server's, for the term and for expiry.
 * - Keeps true: the term is taken in the step that grants and written before the leases. It is one for all that is
 *   granted here, the largest of last + 1, now, and `above` + 1 of each: a term for each name would run ahead of the
 *   clock, which is all that keeps terms rising once the last one is lost. The same attempt is answered with the same
 *   term and extends nothing, unless an operator has ended it; a record that would outlive its own time is cut down to
 *   it, so that a lost TTL or a clock that was stepped back blocks a name for that long at most. A term with a history
 *   begins its line, and one that ended unseen gets its end, in the step that grants. A name under which something
 *   foreign stands is in its index as long as somebody asks for it, so that a list tells of it.
 */
export const acquireScript = defineScript(
  'acquire',
  `${records}
${indexes}
${histories}
local count, highestAbove = tonumber(ARGV[2]), tonumber(ARGV[3])
local firstIndex = 2 + 2 * count
local last = pcall('GET', KEYS[1])
if isForeign(last) or (last and not string.find(last, '^%d+$')) then return 'bad-term' end
last = tonumber(last or '0')
if math.max(last, now, highestAbove) >= ${highestTerm} then return 'no-term' end

local function argumentsOf(i) return 4 + #KEYS - firstIndex + (i - 1) * 9 end

-- What stands in the way; nothing if the name may be granted.
local function obstacle(key, record, suspension, holder, attempt)
  if record and record.state == 'foreign' then return { 'corrupt', record.detail } end
  if suspension then
    return { 'held', record and record.text or false, record and record.remaining or -2, suspension }
  end
  if not record or record.state == 'over' then return nil end
  if record.state == 'reserved' and record.to == string.match(holder, '^[^:]+') then return nil end
  local isRepeated = record.state == 'held' and record.kind ~= 'X'
    and record.holder == holder and record.attempt == attempt
  if isRepeated then return { 'granted', record.term } end
  if record.isOdd then call('PEXPIRE', key, record.whole) end
  return { 'held', record.text, record.remaining, false, record.isOdd and 'repaired' }
end

for i = firstIndex + 1, #KEYS do
  local stale = pcall('ZRANGEBYSCORE', KEYS[i], '-inf', number(now), 'LIMIT', 0, ${pruneCount})
  if not isForeign(stale) and #stale > 0 then call('ZREM', KEYS[i], unpack(stale)) end
end

local results, free, before, term = {}, {}, {}, math.max(last + 1, now)
local suspensionOf = suspensionsIn(KEYS[2])
for i = 1, count do
  local at, key = argumentsOf(i), KEYS[2 + i]
  local record = look(key)
  results[i] = obstacle(key, record, suspensionOf(ARGV[at + 5]), ARGV[at], ARGV[at + 1])
  local index = KEYS[firstIndex + tonumber(ARGV[at + 6])]
  local lifeMs = tonumber(ARGV[at + 2]) * ${indexTtls} + tonumber(ARGV[at + 7])
  if results[i] and results[i][1] == 'corrupt' then
    enter(index, ARGV[at + 5], lifeMs)
  elseif not results[i] then
    if isForeign(enter(index, ARGV[at + 5], lifeMs)) then
      results[i] = { 'corrupt', 'an index of another type' }
    else
      free[#free + 1] = i
      before[i] = record
      term = math.max(term, tonumber(ARGV[at + 3]) + 1)
    end
  end
end
if #free == 0 then return { number(now), results } end

local termText, grantedAt = number(term), number(now)
call('SET', KEYS[1], termText, 'PX', number(math.max(term - now, 0) + ${termLifeMs}))

local function grant(i)
  local at = argumentsOf(i)
  local holder, attempt, ttl, metadata = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
  local grace, kept = ARGV[at + 7], ARGV[at + 8]
  local history = KEYS[2 + count + i]
  local isPlain = grace == '0' and kept == '0'
  if kept ~= '0' or (before[i] and before[i].kept > 0) then settle(history, before[i]) end
  if kept ~= '0' then
    local id = string.match(holder, '^[^:]+')
    note(history, table.concat({ '1T', termText, id, grantedAt, '', '' }, '|'))
    pcall('PUBLISH', ARGV[3 + tonumber(ARGV[at + 6])], ARGV[at + 5])
  end
  local record = table.concat(
    { isPlain and '2L' or '2E', termText, holder, ttl, grace, kept, attempt, grantedAt, metadata }, '|')
  call('SET', KEYS[2 + i], record, 'PX', isPlain and ttl or number(ttl + grace + kept))
  results[i] = { 'granted', termText }
end
for _, i in ipairs(free) do grant(i) end
return { number(now), results }
`,
);
