import { defineScript } from '../../drivers/redis/index.js';

/*
 * What the server does, one atomic step each. The driver adds the deadline, as ARGV[1], and refuses a request that
 * comes after it; `now` is the server's clock, read once.
 *
 * A message in a log is one field, `m1` (message, format 1), whose text is `<seq> NUL <key> NUL <id> NUL <payload>`. One
 * text instead of four fields because turning a reply into Lua's values and back costs more than everything else here.
 *
 * Answers are short texts; a first letter `x` means that something under one of our names is not ours.
 */

/**
 * Appends messages, in the given order, for any number of shards.
 *
 * - KEYS: `log` and `keys` of each shard, then the `id` key of each message.
 * - ARGV: dedupe window (ms), bell channel, count of shards, their numbers; then for each message the index of its
 *   shard (from 1), its key, its own seq or nothing, and `<key> NUL <id> NUL <payload>`.
 * - Answers one text for each message: `a<seq>` appended, `d<seq>` duplicate, `g<last seq>` gap, `m` moved. Or `x<index>`
 *   for the whole call, with nothing written.
 * - Keeps true: a key's seq rises by one with every append and with nothing else, in the same step; an id is accepted
 *   once within the window; the log's positions rise even if the clock is set back (the server sees to it, for `*`).
 * - Rings once for each log that was empty. A log that was not has a reader: its owner asks again until it is empty,
 *   in the step that acknowledges.
 */
export const publishScript = defineScript(
  'publish',
  `
local windowMs, bell, shardCount = ARGV[2], ARGV[3], tonumber(ARGV[4])
local wasEmpty, rings = {}, {}
for shard = 1, shardCount do
  local length = pcall('XLEN', KEYS[2 * shard - 1])
  if type(length) == 'table' or type(pcall('HLEN', KEYS[2 * shard])) == 'table' then return 'x' .. shard end
  wasEmpty[shard] = length == 0
end

local function append(shard, key, ownSeq, text, idKey)
  local keys = KEYS[2 * shard]
  local state = call('HGET', keys, key) or '0'
  local last = tonumber(state)
  local isSealed = not last
  if isSealed then last = tonumber(string.match(state, '^(%d+)|')) end
  local seq = tonumber(ownSeq) or last + 1
  if seq <= last then return 'd' .. number(seq) end
  if isSealed then
    -- A retry of what was accepted here must not be sent on to where the key lives now.
    local known = call('GET', idKey)
    return known and 'd' .. known or 'm'
  end
  if seq > last + 1 then return 'g' .. number(last) end
  local written = number(seq)
  if not call('SET', idKey, written, 'NX', 'PX', windowMs) then return 'd' .. call('GET', idKey) end
  call('HSET', keys, key, written)
  call('XADD', KEYS[2 * shard - 1], '*', 'm1', written .. '\\0' .. text)
  rings[shard] = wasEmpty[shard]
  return 'a' .. written
end

local answers = {}
local at = 4 + shardCount
for index = 1, #KEYS - 2 * shardCount do
  answers[index] = append(tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], KEYS[2 * shardCount + index])
  at = at + 4
end
for shard in pairs(rings) do
  -- A bell that may not be rung is a lost bell, and must not look like a failed append.
  if rings[shard] then pcall('PUBLISH', bell, ARGV[4 + shard]) end
end
return answers
`,
);

/**
 * Makes logs obey new owners. An owner is the text `1|<term>|<holder digest>`.
 *
 * - KEYS: `owner` of each shard. ARGV: the new owner of each shard.
 * - Answers one text for each: `=` installed, `!<term>` stale, `x` not ours.
 * - Keeps true: the installed term never falls, and never changes hands at the same height.
 */
export const installScript = defineScript(
  'install',
  `
local answers = {}
for index, key in ipairs(KEYS) do
  local owner, candidate = pcall('GET', key), ARGV[1 + index]
  local term = type(owner) == 'string' and string.match(owner, '^1|(%d+)|%x+$')
  if owner ~= false and not term then answers[index] = 'x'
  elseif owner == candidate then answers[index] = '='
  elseif not owner or tonumber(string.match(candidate, '^1|(%d+)')) > tonumber(term) then
    call('SET', key, candidate)
    answers[index] = '='
  else answers[index] = '!' .. term end
end
return answers
`,
);

/**
 * Acknowledges and reads, for any number of shards, each only if its log obeys the caller.
 *
 * - KEYS: `log` and `owner` of each shard.
 * - ARGV: the most bytes of payload to gather; then for each shard the caller as an owner's text, how many positions to
 *   acknowledge, these, the start of the range to read, and the limit.
 * - Answers one text for each shard: `=<count acknowledged>`, then `NUL <position> NUL <message>` for each message;
 *   `!<installed term>` (or `!` alone if there is none), with nothing done; `x` not ours.
 * - Keeps true: who is not the installed owner neither finishes a message nor learns of one. Once the bytes are
 *   gathered, each further shard gets one message, so an empty answer always means that nothing is left behind `after`.
 */
export const stepScript = defineScript(
  'step',
  `
local leftBytes = tonumber(ARGV[2])
local function acknowledge(log, first, last)
  if first > last then return 0 end
  return pcall('XDEL', log, unpack(ARGV, first, last))
end
local function read(log, start, limit, parts)
  if limit == 0 then return true end
  local entries = pcall('XRANGE', log, start, '+', 'COUNT', leftBytes > 0 and limit or 1)
  if entries.err then return false end
  local size = #parts
  for _, entry in ipairs(entries) do
    local fields = entry[2]
    if fields[1] ~= 'm1' then return false end
    parts[size + 1], parts[size + 2] = entry[1], fields[2]
    size = size + 2
    leftBytes = leftBytes - #fields[2]
  end
  return true
end
local function step(log, owner, at, afterPositions)
  if type(owner) == 'table' then return 'x' end
  if owner ~= ARGV[at] then return '!' .. (owner and string.match(owner, '^1|(%d+)|') or '') end
  local acknowledged = acknowledge(log, at + 2, afterPositions - 1)
  if type(acknowledged) == 'table' then return 'x' end
  local parts = { '=' .. acknowledged }
  if not read(log, ARGV[afterPositions], tonumber(ARGV[afterPositions + 1]), parts) then return 'x' end
  return table.concat(parts, '\\0')
end

local answers, at = {}, 3
for index = 1, #KEYS, 2 do
  local afterPositions = at + 2 + tonumber(ARGV[at + 1])
  answers[#answers + 1] = step(KEYS[index], pcall('GET', KEYS[index + 1]), at, afterPositions)
  at = afterPositions + 2
end
return answers
`,
);

/**
 * Measures logs.
 *
 * - KEYS: `log` of each shard.
 * - Answers one text for each: the count, and if it is not 0 a space and the age of the oldest message in ms by the
 *   server's clock (0 if that was set back); `x` not ours.
 */
export const backlogScript = defineScript(
  'backlog',
  `
local answers = {}
for index, log in ipairs(KEYS) do
  local length = pcall('XLEN', log)
  if type(length) == 'table' then answers[index] = 'x'
  elseif length == 0 then answers[index] = '0'
  else
    local oldest = call('XRANGE', log, '-', '+', 'COUNT', 1)[1][1]
    local ageMs = math.max(0, now - tonumber(string.match(oldest, '^%d+')))
    answers[index] = number(length) .. ' ' .. number(ageMs)
  end
end
return answers
`,
);

/**
 * Seals a key, or looks again whether a sealed one has drained.
 *
 * - KEYS: `log` and `keys` of the shard. ARGV: the key, how many messages to look through.
 * - Answers `<last seq> <1 or 0>`: 1 if every message of the key is finished.
 * - The key's state becomes `<last seq>|<last position of the log>`, which no number is, so publishing refuses it. Only
 *   messages up to that position can be the key's. If there are more of them than may be looked through the answer is
 *   0, which is never wrong for long: nothing is added below that position.
 */
export const sealScript = defineScript(
  'seal',
  `
local log, keys, key = KEYS[1], KEYS[2], ARGV[2]
local state = call('HGET', keys, key) or '0'
local last, newest = string.match(state, '^(%d+)|(.+)$')
if not last then
  local entry = call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  last, newest = state, entry and entry[1] or '0-0'
  call('HSET', keys, key, last .. '|' .. newest)
end
local entries = call('XRANGE', log, '-', newest, 'COUNT', ARGV[3])
for _, entry in ipairs(entries) do
  if string.match(entry[2][2], '^%d+%z(.-)%z') == key then return last .. ' 0' end
end
return last .. (#entries < tonumber(ARGV[3]) and ' 1' or ' 0')
`,
);

/**
 * Opens a key, sealed or not, behind a seq. Never lowers one.
 *
 * - KEYS: `keys` of the shard. ARGV: the key, the last seq it had elsewhere.
 */
export const openScript = defineScript(
  'open',
  `
local state = call('HGET', KEYS[1], ARGV[2]) or '0'
local last = tonumber(string.match(state, '^%d+'))
call('HSET', KEYS[1], ARGV[2], number(math.max(last, tonumber(ARGV[3]))))
return '='
`,
);
