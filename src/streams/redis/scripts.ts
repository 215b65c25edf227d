import { highestTerm } from '../../coordinators/index.js';
import { defineScript, executedInPart, foreign } from '../../drivers/redis/index.js';

/*
 * What the server does, one atomic step each. The driver adds the deadline, as ARGV[1], and refuses a request that
 * comes after it; `now` is the server's clock, read once.
 *
 * A message in a log is one field, `m1` (message, format 1), whose text is `<seq> NUL <key> NUL <id> NUL <payload>`. One
 * text instead of four fields because turning a reply into Lua's values and back costs more than everything else here.
 *
 * Answers are short texts; a first letter `x` means that something under one of our names is not ours.
 */

const mostSeq = Number.MAX_SAFE_INTEGER;
/** Behind it the server appends nothing any more. */
const lastPosition = '18446744073709551615-18446744073709551615';

/**
 * The state of a key: `<last seq>`, then `|<version>` once it was moved, then `|<position>` while it is sealed. Without
 * a field it is `0`. `readState` answers the three as texts, and nothing if that is not what stands there, or a number
 * that no more can be counted from.
 */
const readState = `
local function isAtMost(most, text)
  return #text < 16 or #text == 16 and tonumber(text) <= most
end
local function readState(keys, key)
  local state = pcall('HGET', keys, key)
  if not state then return '0', '0', '' end
  if isForeign(state) then return nil end
  local last, version, position = string.match(state, '^%d+$'), '0', ''
  if not last then last, version = string.match(state, '^(%d+)|(%d+)$') end
  if not last then last, version, position = string.match(state, '^(%d+)|(%d+)|(%d+%-%d+)$') end
  if not last or #position > ${lastPosition.length} then return nil end
  if not isAtMost(${mostSeq - 1}, last) or not isAtMost(${mostSeq}, version) then return nil end
  return last, version, position
end`;

/** `termIn(owner)`: the term in the text of an owner, and nothing if that is none. */
const termIn = `
local function termIn(owner)
  local term, digest = string.match(owner, '^1|([1-9]%d*)|([0-9a-f]+)$')
  if term and #digest == 32 and #term <= 16 and tonumber(term) <= ${highestTerm} then return term end
end`;

/**
 * Appends messages, in the given order, for any number of shards.
 *
 * - KEYS: `log` and `keys` of each shard, then the `id` key of each message.
 * - ARGV: dedupe window (ms), bell channel, count of shards, their numbers; then for each message the index of its
 *   shard (from 1), its key, its own seq or nothing, and `<key> NUL <id> NUL <payload>`.
 * - Answers one text for each message: `a<seq>` appended, `d<seq>` duplicate, `g<last seq>` gap, `m` moved; `xl`, `xk`
 *   or `xi` if what stands under `log`, `keys` or `id` is not ours, with nothing written for this message.
 * - Keeps true: a key's seq rises by one with every append and with nothing else, in the same step; an id is accepted
 *   once within the window; the log's positions rise even if the clock is set back (the server sees to it, for `*`).
 * - A write that is refused (a right that is missing) is met by taking back the message's other writes, with commands
 *   that were allowed a moment ago. If messages before it were appended, the error says so.
 * - Rings once for each log that was empty. A log that was not has a reader: its owner asks again until it is empty,
 *   in the step that acknowledges.
 */
export const publishScript = defineScript(
  'publish',
  `
${foreign}
${readState}
local windowMs, bell, shardCount = ARGV[2], ARGV[3], tonumber(ARGV[4])
local wasEmpty, foreignPart, rings = {}, {}, {}
local isAnyAppended = false
for shard = 1, shardCount do
  local length = pcall('XLEN', KEYS[2 * shard - 1])
  if isForeign(length) then foreignPart[shard] = 'xl' end
  if isForeign(pcall('HLEN', KEYS[2 * shard])) then foreignPart[shard] = 'xk' end
  wasEmpty[shard] = length == 0
end

local function stop(reply)
  if isAnyAppended then error({ err = '${executedInPart} ' .. reply.err }) end
  error(reply)
end
local function isRefused(reply)
  return type(reply) == 'table' and reply.err
end
-- Whether its last position is the last that there can be, which no clock has given it.
local function isFull(log)
  local entry = pcall('XREVRANGE', log, '+', '-', 'COUNT', 1)
  return entry[1] and entry[1][1] == '${lastPosition}'
end

local function append(shard, key, ownSeq, text, idKey)
  if foreignPart[shard] then return foreignPart[shard] end
  local keys = KEYS[2 * shard]
  local lastText, version, position = readState(keys, key)
  if not lastText then return 'xk' end
  local last = tonumber(lastText)
  local seq = tonumber(ownSeq) or last + 1
  if seq <= last then return 'd' .. number(seq) end
  if position ~= '' then
    -- A retry of what was accepted here must not be sent on to where the key lives now.
    local known = pcall('GET', idKey)
    if isForeign(known) then return 'xi' end
    return known and known ~= '' and 'd' .. known or 'm'
  end
  if seq > last + 1 then return 'g' .. lastText end
  local written = number(seq)
  local accepted = pcall('SET', idKey, written, 'NX', 'PX', windowMs)
  if isRefused(accepted) then stop(accepted) end
  if not accepted then
    local known = pcall('GET', idKey)
    if isForeign(known) then return 'xi' end
    if known ~= '' then return 'd' .. known end
    -- Taken back within the last millisecond.
    call('SET', idKey, written, 'PX', windowMs)
  end
  local moves = version == '0' and '' or '|' .. version
  local numbered = pcall('HSET', keys, key, written .. moves)
  local appended = numbered
  if not isRefused(numbered) then
    appended = pcall('XADD', KEYS[2 * shard - 1], '*', 'm1', written .. '\\0' .. text)
  end
  if isRefused(appended) then
    if not isRefused(numbered) then call('HSET', keys, key, lastText .. moves) end
    call('SET', idKey, '', 'PX', 1)
    if isFull(KEYS[2 * shard - 1]) then return 'xl' end
    stop(appended)
  end
  isAnyAppended = true
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
${foreign}
${termIn}
local answers = {}
for index, key in ipairs(KEYS) do
  local owner, candidate = pcall('GET', key), ARGV[1 + index]
  local term = not isForeign(owner) and owner and termIn(owner)
  if owner and not term then answers[index] = 'x'
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
 * - ARGV: the most bytes of payload to gather, how many messages to read at a time; then for each shard the caller as an
 *   owner's text, how many positions to acknowledge, these, the start of the range to read, and the limit.
 * - Answers one text for each shard: `=<count acknowledged>`, then `NUL NUL <position> NUL <message>` for each message,
 *   up to the first entry that is not ours; `!<installed term>` (or `!` alone if there is none), with nothing done; `xo`
 *   or `xl` if what stands under `owner`, or next in `log`, is not ours.
 * - Keeps true: who is not the installed owner neither finishes a message nor learns of one. Once the bytes are
 *   gathered a shard gets no second message, but each gets its first, so an empty answer always means that nothing is
 *   left behind `after`.
 */
export const stepScript = defineScript(
  'step',
  `
${foreign}
${termIn}
local leftBytes, readCount = tonumber(ARGV[2]), tonumber(ARGV[3])
local function acknowledge(log, first, last)
  if first > last then return 0 end
  return pcall('XDEL', log, unpack(ARGV, first, last))
end
-- Whether anything was read, or nothing is there to be read.
local function read(log, start, limit, parts)
  local size = 1
  while limit > 0 do
    if leftBytes <= 0 and size > 1 then return true end
    local count = leftBytes > 0 and math.min(limit, readCount) or 1
    local entries = pcall('XRANGE', log, start, '+', 'COUNT', count)
    if isForeign(entries) then return false end
    for _, entry in ipairs(entries) do
      local fields = entry[2]
      if fields[1] ~= 'm1' or #fields ~= 2 then return size > 1 end
      parts[size + 1], parts[size + 2], parts[size + 3] = '', entry[1], fields[2]
      size = size + 3
      leftBytes = leftBytes - #fields[2]
    end
    if #entries < count then return true end
    start = '(' .. entries[count][1]
    limit = limit - count
  end
  return true
end
local function step(log, owner, at, afterPositions)
  if isForeign(owner) then return 'xo' end
  if owner ~= ARGV[at] then
    local term = owner and termIn(owner)
    if owner and not term then return 'xo' end
    return '!' .. (term or '')
  end
  local acknowledged = acknowledge(log, at + 2, afterPositions - 1)
  if isForeign(acknowledged) then return 'xl' end
  local parts = { '=' .. acknowledged }
  if not read(log, ARGV[afterPositions], tonumber(ARGV[afterPositions + 1]), parts) then return 'xl' end
  return table.concat(parts, '\\0')
end

local answers, at = {}, 4
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
${foreign}
local answers = {}
for index, log in ipairs(KEYS) do
  local length = pcall('XLEN', log)
  if isForeign(length) then answers[index] = 'x'
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
 * - KEYS: `log` and `keys` of the shard. ARGV: the key, the version of the table of pins, how many messages to look
 *   through, how many to read at a time.
 * - Answers `<last seq> <1 or 0>`: 1 if every message of the key is finished. `s` superseded; `x` not ours.
 * - The key's state becomes `<last seq>|<version>|<last position of the log>`. Only messages up to that position can be
 *   the key's. If there are more of them than may be looked through the answer is 0, which is never wrong for long:
 *   nothing is added below that position.
 * - Keeps true: the version of a key never falls; sealing again keeps the position.
 */
export const sealScript = defineScript(
  'seal',
  `
${foreign}
${readState}
local log, keys, key, version = KEYS[1], KEYS[2], ARGV[2], ARGV[3]
local last, known, newest = readState(keys, key)
if not last then return 'x' end
if tonumber(version) < tonumber(known) then return 's' end
if newest == '' or tonumber(version) > tonumber(known) then
  if newest == '' then
    local entry = pcall('XREVRANGE', log, '+', '-', 'COUNT', 1)
    if isForeign(entry) then return 'x' end
    newest = entry[1] and entry[1][1] or '0-0'
  end
  call('HSET', keys, key, last .. '|' .. version .. '|' .. newest)
end
local left, start = tonumber(ARGV[4]), '-'
while left > 0 do
  local entries = pcall('XRANGE', log, start, newest, 'COUNT', math.min(left, tonumber(ARGV[5])))
  if isForeign(entries) then return 'x' end
  if #entries == 0 then return last .. ' 1' end
  for _, entry in ipairs(entries) do
    local fields = entry[2]
    local isOurs = fields[1] == 'm1' and #fields == 2
    local owner = isOurs and string.match(fields[2], '^%d+%z([^%z]+)%z[^%z]+%z[^%z]+$')
    if not owner then return 'x' end
    if owner == key then return last .. ' 0' end
  end
  start = '(' .. entries[#entries][1]
  left = left - #entries
end
return last .. ' 0'
`,
);

/**
 * Opens a key, sealed or not, behind a seq. Never lowers one.
 *
 * - KEYS: `keys` of the shard. ARGV: the key, the version of the table of pins, the last seq it had elsewhere.
 * - Answers `=` opened; `s` superseded; `x` not ours. The key's state becomes `<last seq>|<version>`.
 */
export const openScript = defineScript(
  'open',
  `
${foreign}
${readState}
local keys, key, version = KEYS[1], ARGV[2], ARGV[3]
local last, known = readState(keys, key)
if not last then return 'x' end
if tonumber(version) < tonumber(known) then return 's' end
call('HSET', keys, key, number(math.max(tonumber(last), tonumber(ARGV[4]))) .. '|' .. version)
return '='
`,
);

/**
 * Keeps the number of a topic's shards, or compares with it.
 *
 * - KEYS: `topic`. ARGV: the number.
 * - Answers the number that is kept; `x` not ours. What is kept is `1|<number>`, and never changes.
 */
export const topicScript = defineScript(
  'describeTopic',
  `
${foreign}
local kept = pcall('GET', KEYS[1])
if isForeign(kept) then return 'x' end
if not kept then
  call('SET', KEYS[1], '1|' .. ARGV[2])
  return ARGV[2]
end
return string.match(kept, '^1|(%d+)$') or 'x'
`,
);
