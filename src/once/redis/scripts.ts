import { defineScript, foreign } from '../../drivers/redis/index.js';
import { settlementCount } from '../records.js';
import { highestAttempt, latestMs, longestEffectMs } from '../rules/sound.js';

/*
 * A key is a hash, with a TTL if it is to be forgotten:
 *
 *   version      1
 *   key          as it is
 *   state        started | done | unknown | free. A started one is unknown from its deadline on, without a write
 *   attempt      its number
 *   owner        the nonce of the attempt; of the settlement, once there was one
 *   by           who began it
 *   started      Unix times in ms: when it began,
 *   deadline     from when on it is unknown,
 *   ended        when it ended or was settled,
 *   expires      and when it is forgotten
 *   result       JSON text
 *   detail       why it is unknown or free, or why its result was not kept
 *   settlements  lines <attempt>|<outcome>|<time>|<who and why, a JSON list>, the latest last
 *
 * The clock is the server's; each script reads it once. Those that change something answer with the whole hash as it
 * stands then: a verdict, the time, fields and values. What a full server refuses is written first, so that it refuses all.
 */

/**
 * Lua: `find(key)`, the fields of a key as a table (empty: there is none), or `nil` if something else stands there, or what
 * cannot be true. `countAnew(key, open, member, r)`: if the clock was set back since an attempt began, nobody can tell how much
 * of its time is over; it counts from now on. `standing(r)`, its state at this moment. `answer(verdict, key)`, what a script returns.
 */
const shared = `
${foreign}
local attempted = _G.pcall
local function isWhole(text, lowest, highest)
  return text and #text <= 16 and string.find(text, '^%d+$') and tonumber(text) >= lowest and tonumber(text) <= highest
end
local function isMoment(text) return isWhole(text, 0, ${latestMs}) end
local states = { started = true, done = true, unknown = true, free = true }
local outcomes = { done = true, ['not-applied'] = true, repeated = true }
local function isSound(r)
  if r.version ~= '1' or not (states[r.state or ''] and r.key and r.owner and r.by and r.settlements) then return false end
  if not (isWhole(r.attempt, 1, ${highestAttempt}) and isMoment(r.started) and isMoment(r.deadline)) then return false end
  if r.ended and not isMoment(r.ended) or r.expires and not isMoment(r.expires) then return false end
  if r.deadline - r.started > ${longestEffectMs} then return false end
  if r.settlements == '' then return true end
  for line in string.gmatch(r.settlements .. '\\n', '([^\\n]*)\\n') do
    local attempt, outcome, at, words = string.match(line, '^(%d+)|([%a-]+)|(%d+)|(.+)$')
    if not (isWhole(attempt, 1, ${highestAttempt}) and outcomes[outcome] and isMoment(at)) then return false end
    local isRead, pair = attempted(cjson.decode, words)
    if not isRead or type(pair) ~= 'table' or #pair ~= 2 or type(pair[1]) ~= 'string' or type(pair[2]) ~= 'string' then return false end
  end
  return true
end
local function find(key)
  local fields = pcall('HGETALL', key)
  if isForeign(fields) then return nil end
  local r = {}
  for i = 1, #fields, 2 do r[fields[i]] = fields[i + 1] end
  if #fields > 0 and not isSound(r) then return nil end
  return r
end
local function countAnew(key, open, member, r)
  local ahead = r.state == 'started' and r.started - now or 0
  if ahead <= 0 then return end
  for _, field in ipairs({ 'started', 'deadline', 'expires' }) do
    if r[field] then
      r[field] = number(math.max(0, r[field] - ahead))
      call('HSET', key, field, r[field])
    end
  end
  call('ZADD', open, r.deadline, member)
  if r.expires then call('PEXPIREAT', key, r.expires) end
end
local function standing(r)
  if r.state == 'started' and now >= tonumber(r.deadline) then return 'unknown' end
  return r.state
end
-- What a repetition finds done is written again, so that waiting for the replicas waits for this.
local function again(verdict, key, state)
  call('HSET', key, 'state', state)
  return { verdict, number(now), call('HGETALL', key) }
end
local function answer(verdict, key) return { verdict, number(now), call('HGETALL', key) } end
local function settled(r, outcome, words)
  local lines = {}
  for line in string.gmatch(r.settlements or '', '[^\\n]+') do lines[#lines + 1] = line end
  lines[#lines + 1] = r.attempt .. '|' .. outcome .. '|' .. number(now) .. '|' .. words
  return table.concat(lines, '\\n', math.max(1, #lines - ${settlementCount - 1}))
end
local function expire(key, at)
  if at then
    call('HSET', key, 'expires', number(at))
    call('PEXPIREAT', key, number(at))
  else
    call('HDEL', key, 'expires')
    call('PERSIST', key)
  end
end`;

/** Lua: writes how an attempt ended, with the arguments from `ARGV[at]` on: state, keep ms, result, detail; the last two with a first letter that says whether they are there. */
const conclude = `
local function conclude(at)
  call('HSET', KEYS[1], 'state', ARGV[at], 'ended', number(now))
  for i, field in ipairs({ 'result', 'detail' }) do
    local text = ARGV[at + 1 + i]
    if string.sub(text, 1, 1) == '+' then call('HSET', KEYS[1], field, string.sub(text, 2))
    else call('HDEL', KEYS[1], field) end
  end
  expire(KEYS[1], ARGV[at + 1] ~= '' and now + tonumber(ARGV[at + 1]))
end`;

/**
 * Begins an attempt.
 *
 * - KEYS: the key; the open ones. ARGV: encoded key, key, nonce, who, timeout ms, keep ms or nothing; the attempt and the
 *   start of the one that may be repeated, or nothing; who says so and why.
 * - Returns `begun`, `done`, `under-way`, `unknown` or `spent`, and the key as it stands; or `corrupt`.
 * - Keeps true: of many who begin, one does. What is done is never begun again, and what is unknown only by its number.
 */
export const beginScript = defineScript(
  'beginOnce',
  `${shared}
local r = find(KEYS[1])
if not r then return { 'corrupt' } end
local settlements, attempt = r.settlements, 0
if r.version then
  countAnew(KEYS[1], KEYS[2], ARGV[2], r)
  if r.owner == ARGV[4] then
    if r.state == 'started' then return again('begun', KEYS[1], r.state) end
    return answer('spent', KEYS[1])
  end
  local state = standing(r)
  if state == 'done' then return answer('done', KEYS[1]) end
  if state == 'started' then return answer('under-way', KEYS[1]) end
  if state == 'unknown' then
    if r.attempt ~= ARGV[8] or r.started ~= ARGV[9] then return answer('unknown', KEYS[1]) end
    settlements = settled(r, 'repeated', ARGV[10])
  end
  attempt = tonumber(r.attempt)
end
local deadline = now + tonumber(ARGV[6])
call('ZADD', KEYS[2], number(deadline), ARGV[2])
call('HSET', KEYS[1], 'version', 1, 'key', ARGV[3], 'state', 'started', 'attempt', number(attempt + 1), 'owner', ARGV[4],
  'by', ARGV[5], 'started', number(now), 'deadline', number(deadline), 'settlements', settlements or '')
call('HDEL', KEYS[1], 'ended', 'result', 'detail')
expire(KEYS[1], ARGV[7] ~= '' and deadline + tonumber(ARGV[7]))
return answer('begun', KEYS[1])
`,
);

/**
 * Ends an attempt.
 *
 * - KEYS: the key; the open ones. ARGV: encoded key, nonce; state, keep ms or nothing, result, detail (see `conclude`).
 * - Returns `recorded` or `superseded`, and the key as it stands; or `corrupt`.
 * - Keeps true: nobody ends what another one began, or somebody settled; no end is taken back.
 */
export const endScript = defineScript(
  'endOnce',
  `${shared}
${conclude}
local r = find(KEYS[1])
if not r then return { 'corrupt' } end
if r.owner ~= ARGV[3] then return answer('superseded', KEYS[1]) end
local isOpen = r.state == 'started' or r.state == 'unknown'
if not isOpen or (r.state == 'unknown' and ARGV[4] == 'unknown') then return again('recorded', KEYS[1], r.state) end
conclude(4)
if ARGV[4] ~= 'unknown' then call('ZREM', KEYS[2], ARGV[2]) end
return answer('recorded', KEYS[1])
`,
);

/**
 * Settles an attempt of unknown outcome.
 *
 * - KEYS: the key; the open ones. ARGV: encoded key, nonce; the attempt and the start of the one that is meant, or nothing;
 *   who and why; state, keep ms, result, detail (see `conclude`); the outcome as settlements name it.
 * - Returns `settled` or `refused`, and the key as it stands; or `corrupt`.
 */
export const settleScript = defineScript(
  'settleOnce',
  `${shared}
${conclude}
local r = find(KEYS[1])
if not r then return { 'corrupt' } end
if not r.version then return answer('refused', KEYS[1]) end
countAnew(KEYS[1], KEYS[2], ARGV[2], r)
if r.owner == ARGV[3] then return again('settled', KEYS[1], r.state) end
local isMeant = ARGV[4] == '' or (r.attempt == ARGV[4] and r.started == ARGV[5])
if standing(r) ~= 'unknown' or not isMeant then return answer('refused', KEYS[1]) end
conclude(7)
call('HSET', KEYS[1], 'owner', ARGV[3], 'settlements', settled(r, ARGV[11], ARGV[6]))
call('ZREM', KEYS[2], ARGV[2])
return answer('settled', KEYS[1])
`,
);

/**
 * - KEYS: the key. Returns `read`, and the key as it stands; or `corrupt`. Changes nothing.
 */
export const readScript = defineScript(
  'readOnce',
  `${shared}
if not find(KEYS[1]) then return { 'corrupt' } end
return answer('read', KEYS[1])
`,
);

/**
 * Lists keys of unknown outcome by their deadlines; passes over what cannot be read.
 *
 * - KEYS: the open ones. ARGV: what keys begin with; how many at most; after which deadline and encoded key, or nothing.
 * - Returns the time, then the hash of each. What the index names, and is not there any more, is taken out of it.
 * - The keys are found by the index, so they are not among KEYS; all are in the slot of the index.
 */
export const unknownScript = defineScript(
  'unknownOnce',
  `${shared}
local found, offset, step = {}, 0, 200
local from, after = ARGV[4] ~= '' and tonumber(ARGV[4]) or 0, ARGV[5]
-- The operators of Lua compare texts as the server's locale has it, an index by their bytes.
local function isAfter(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then return a > b end
  end
  return #one > #other
end
while #found < tonumber(ARGV[3]) do
  local entries = call('ZRANGEBYSCORE', KEYS[1], number(from), '+inf', 'WITHSCORES', 'LIMIT', offset, step)
  if #entries == 0 then break end
  for i = 1, #entries, 2 do
    local member, score = entries[i], tonumber(entries[i + 1])
    local isBefore = ARGV[4] ~= '' and score == from and not isAfter(member, after)
    if #found < tonumber(ARGV[3]) and not isBefore then
      local r = find(ARGV[2] .. member)
      if r and r.version and (r.state == 'started' or r.state == 'unknown') then
        countAnew(ARGV[2] .. member, KEYS[1], member, r)
        if standing(r) == 'unknown' then found[#found + 1] = call('HGETALL', ARGV[2] .. member) end
        -- One that counts anew may have left the range that is read.
        if tonumber(r.deadline) >= from then offset = offset + 1 end
      elseif r then call('ZREM', KEYS[1], member)
      else offset = offset + 1 end
    else offset = offset + 1 end
  end
end
return { number(now), found }
`,
);
