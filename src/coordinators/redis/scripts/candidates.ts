import { defineScript } from '../../../drivers/redis/index.js';
import { indexes } from './indexes.js';
import { queues } from './queues.js';
import { records } from './records.js';

/** How many fields, picked at random, one enrollment looks at and forgets if they are dead. */
const sampleCount = 4;

/** Every preference has a band of scores of its own in the queue; Unix times in ms are smaller than one until the year 2286. */
const bandWidth = 1e13;
const highestPreference = 99;

/**
 * Enters holders among the candidates of names, or refreshes their entries.
 *
 * - KEYS: the suspensions; n leases; n queues; n tables of candidates.
 * - ARGV: n; then for each: name, digest, holder's id, standing, preference, ttl in ms, metadata (empty: none).
 * - Returns the time, and for each: text and PTTL of what stands under the name (nothing: it is free, or foreign), text of
 *   its suspension (nothing: none), place in the queue (-1: none), 1 for a duplicate or 0, 1 for a repaired record or 0; or
 *   `corrupt` and the number of a name with a queue or table of another type, after which nothing was done.
 * - Clock: the server's, for the order and the end of entries.
 * - Keeps true: an entry keeps its place while its standing lasts, and newcomers stand behind everybody of their
 *   preference, even after the clock was set back. Dead entries go, a few at each step; the keys end with their last. Who
 *   waits cuts a record that would outlive its own time down to it, as an acquisition does: it learns from here when to
 *   acquire, and would never come to that.
 */
export const enrollScript = defineScript(
  'enroll',
  `${records}
${indexes}
${queues}
local count = tonumber(ARGV[2])

local function hasOtherType(key, command, ...)
  return isForeign(pcall(command, key, ...))
end

for i = 1, count do
  local queue, candidates = KEYS[1 + count + i], KEYS[1 + 2 * count + i]
  if hasOtherType(queue, 'ZSCORE', '') or hasOtherType(candidates, 'HGET', '') then
    return { 'corrupt', i }
  end
end

-- Whether another one enrolled under this id since this one last did, and lives.
local function isDuplicate(candidates, before, digest, id)
  local latest = before and call('HGET', candidates, 'i:' .. id)
  return latest and latest ~= digest and liveEntry(candidates, latest) ~= nil
end

-- Among equals, behind everybody.
local function newScore(queue, band)
  local last = call('ZREVRANGEBYSCORE', queue, number(band + ${bandWidth - 1}), number(band), 'WITHSCORES', 'LIMIT', 0, 1)
  return math.max(band + now, tonumber(last[2] or 0) + 1)
end

local function placeIn(queue, candidates, before, digest, preference)
  local band = (${highestPreference} - preference) * ${bandWidth}
  local score = before and before.standing == 'waiting' and call('ZSCORE', queue, digest)
  if not score then
    call('ZADD', queue, number(newScore(queue, band)), digest)
  elseif before.preference ~= preference then
    call('ZADD', queue, number(band + tonumber(score) % ${bandWidth}), digest)
  end
  firstWaiting(queue, candidates)
  return call('ZRANK', queue, digest)
end

local function forgetSome(queue, candidates)
  local sample = call('HRANDFIELD', candidates, ${sampleCount}, 'WITHVALUES')
  for j = 1, #sample, 2 do
    local kind, of = string.match(sample[j], '^(%a):(.*)$')
    if kind == 'd' and not liveEntry(candidates, of) then forget(queue, candidates, of) end
    if kind == 'i' and not liveEntry(candidates, sample[j + 1]) then call('HDEL', candidates, sample[j]) end
  end
end

local suspensionOf = suspensionsIn(KEYS[1])

local function enroll(i)
  local at = 3 + (i - 1) * 7
  local name, digest, id, standing = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local preference, ttl, metadata = tonumber(ARGV[at + 4]), ARGV[at + 5], ARGV[at + 6]
  local queue, candidates = KEYS[1 + count + i], KEYS[1 + 2 * count + i]
  local before = liveEntry(candidates, digest)
  local duplicate = isDuplicate(candidates, before, digest, id)
  local since = before and before.standing == standing and before.since or number(now)
  local entry = { '1', id, standing, number(preference), since, number(now), ttl, metadata }
  call('HSET', candidates, 'd:' .. digest, table.concat(entry, '|'), 'i:' .. id, digest)
  local position = -1
  if standing == 'waiting' then
    position = placeIn(queue, candidates, before, digest, preference)
    keep(queue, tonumber(ttl))
  else
    call('ZREM', queue, digest)
  end
  forgetSome(queue, candidates)
  keep(candidates, tonumber(ttl))
  local current = look(KEYS[1 + i]) or {}
  local isRepaired = standing == 'waiting' and current.isOdd
  if isRepaired then call('PEXPIRE', KEYS[1 + i], current.whole) end
  local flags = { duplicate and 1 or 0, isRepaired and 1 or 0 }
  return { current.text or false, current.remaining or -2, suspensionOf(name), position, unpack(flags) }
end

local results = {}
for i = 1, count do results[i] = enroll(i) end
return { number(now), results }
`,
);

/**
 * Removes holders' entries.
 *
 * - KEYS: n queues; n tables of candidates. ARGV: n; then for each: digest, holder's id.
 * - Returns nothing. Keeps true: nobody else's entry changes; what is of another type is left alone.
 */
export const withdrawScript = defineScript(
  'withdraw',
  `${records}
${queues}
local count = tonumber(ARGV[2])
for i = 1, count do
  local digest, id = ARGV[1 + 2 * i], ARGV[2 + 2 * i]
  local queue, candidates = KEYS[i], KEYS[count + i]
  if not isForeign(pcall('HDEL', candidates, 'd:' .. digest)) then
    if call('HGET', candidates, 'i:' .. id) == digest then call('HDEL', candidates, 'i:' .. id) end
  end
  isForeign(pcall('ZREM', queue, digest))
end
return false
`,
);

/**
 * All entries of a name.
 *
 * - KEYS: the queue; the table of candidates.
 * - Returns the time, the table as fields and values, and the queue in its order; or nothing if one is of another type.
 * - Changes nothing.
 */
export const candidatesScript = defineScript(
  'candidates',
  `${records}
local queue, entries = pcall('ZRANGE', KEYS[1], 0, -1), pcall('HGETALL', KEYS[2])
if isForeign(queue) or isForeign(entries) then return false end
return { number(now), entries, queue }
`,
);
