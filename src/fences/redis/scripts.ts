import { highestTerm } from '../../coordinators/index.js';
import { records } from '../../coordinators/redis/index.js';
import { defineScript, defineThinScript, foreign } from '../../drivers/redis/index.js';

/**
 * Lua: the rule of every fence. Terms are decimal texts without leading zeros, and compared as such, so that no number is
 * rounded: the longer one is higher.
 */
const rule = `
local function isHigher(one, other)
  if #one ~= #other then return #one > #other end
  return one > other
end

-- What is installed under a key: nothing, a term and a digest, or 'corrupt'.
local function installedIn(key)
  local text = pcall('GET', key)
  if isForeign(text) then return 'corrupt' end
  if not text then return nil end
  local term, digest = string.match(text, '^1|([1-9]%d*)|([0-9a-f]+)$')
  if not term or #digest ~= 32 or #term > 16 or tonumber(term) > ${highestTerm} then return 'corrupt' end
  return term, digest
end`;

/**
 * Lua: why the lease under a key is not the caller's, as a reason of its end; nothing if it is. The records are the
 * coordinator's.
 */
const lease = `
local function endOf(key, owner)
  local record = look(key)
  if not record or record.state == 'over' or record.state == 'lock-delay' then return 'vanished' end
  if record.state ~= 'held' or record.term .. '|' .. record.holder ~= owner then return 'superseded' end
  if record.kind == 'X' then return 'revoked' end
end`;

/**
 * Checks the token, and executes the queued commands if it passes.
 *
 * - KEYS: the fence's; with leases, the lease's; e effects; then those of the commands.
 * - ARGV: term; digest; `1` if a term must be installed already; the owner of the lease, `<term>|<holder>`; ms for which
 *   effects are kept (empty: for ever); e; their e ids; t, and t times: number of a key (of KEYS) and the type that it must
 *   have, or not be there; then for each command how many words it has, and these.
 * - Returns `done` and the replies | `stale`, installed term | `lost` | `ended`, reason | `changed` | `type`, number of
 *   the key | `failed`, the server's words and the number of the command or the name of one that is the fence's own | `part`, the
 *   server's words and the number of the command | `corrupt`.
 * - Keeps true: the installed term never falls, and no lower one writes after it; all but `done` and `part` have changed
 *   nothing. `part` means that the commands before the one that failed were executed, and none after it: nothing takes back
 *   what a script has written, so their term is installed.
 */
function batchBody(withLeases: boolean): string {
  return `${withLeases ? records : foreign}
${rule}
${withLeases ? lease : ''}
local term, digest = ARGV[2], ARGV[3]
local installed, by = installedIn(KEYS[1])
if installed == 'corrupt' then return { 'corrupt' } end
local isNew = not installed or isHigher(term, installed)
if not isNew and (installed ~= term or by ~= digest) then return { 'stale', installed } end
if not installed and ARGV[4] == '1' then return { 'lost' } end
${withLeases ? `local reason = endOf(KEYS[2], ARGV[5])\nif reason then return { 'ended', reason } end` : ''}

local effectCount = tonumber(ARGV[7])
local firstEffect = ${withLeases ? 2 : 1}
for i = 1, effectCount do
  if call('EXISTS', KEYS[firstEffect + i]) == 1 then return { 'changed' } end
end
local at = 8 + effectCount
local firstCommand = at + 1 + 2 * tonumber(ARGV[at])
for i = at + 1, firstCommand - 1, 2 do
  local is = call('TYPE', KEYS[tonumber(ARGV[i])]).ok
  if is ~= 'none' and is ~= ARGV[i + 1] then return { 'type', ARGV[i] } end
end

local replies, failure = {}, nil
local function isRefused(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  -- Of no command, but of the whole script: of a server that is no master any more.
  if #replies == 0 and string.find(reply.err, '^READONLY') then error(reply) end
  return true
end

-- These change nothing, but are refused where writes are: by a server without memory, disk or replicas, by a replica, and to
-- a user without the right. The fence's own writes stand here with a condition that does not hold, since the commands that come
-- before them cannot be taken back. One command alone is refused by itself.
local function canWrite(...)
  local reply = pcall(...)
  if isRefused(reply) then failure = { 'failed', reply.err, (...) } end
  return not failure
end
local installing = '1|' .. term .. '|' .. digest
if isNew and not canWrite('SET', KEYS[1], installing, installed and 'NX' or 'XX') then return failure end
for i = 1, effectCount do
  if not canWrite('SET', KEYS[firstEffect + i], ARGV[7 + i], 'XX') then return failure end
end
local isOne = firstCommand <= #ARGV and firstCommand + tonumber(ARGV[firstCommand]) == #ARGV
local isProved = isNew or effectCount > 0 or isOne
if not isProved and not canWrite('SETRANGE', KEYS[1], 0, '') then return failure end

local function write(...)
  local reply = pcall(...)
  if isRefused(reply) then
    failure = { #replies == 0 and 'failed' or 'part', reply.err, #replies + 1 }
    -- What stays was written under this term: nobody of a lower one writes after it.
    if isNew and #replies > 0 then pcall('SET', KEYS[1], installing) end
    return false
  end
  replies[#replies + 1] = reply
  return true
end

while firstCommand <= #ARGV do
  local last = firstCommand + tonumber(ARGV[firstCommand])
  if not write(unpack(ARGV, firstCommand + 1, last)) then return failure end
  firstCommand = last + 1
end
if isNew and not write('SET', KEYS[1], installing) then return failure end
for i = 1, effectCount do
  local life = ARGV[6] == '' and {} or { 'PX', ARGV[6] }
  if not write('SET', KEYS[firstEffect + i], ARGV[7 + i], unpack(life)) then return failure end
end
return { 'done', replies }
`;
}

export const batchScript = defineScript('the fenced batch', batchBody(false));

/** The same, where the leases are on this server. */
export const leasedBatchScript = defineScript('the fenced batch', batchBody(true));

/** Where the answer of these scripts begins. */
export const singlesAt = 2;

/** {@link singlesScript} for one command alone. ARGV: what is installed; then the words of the command. */
export const singleScript = defineThinScript(
  'the fenced batch',
  `local words, pcall = ARGV, redis.pcall
if pcall('GET', KEYS[1]) ~= words[2] then return { now, done } end
local reply = pcall(unpack(words, 3))
if type(reply) == 'table' and reply.err then return { now, done, { 1 }, reply.err } end
return { now, done, 0, reply }
`,
);

/**
 * The commonest batches at the price of little more than their commands: of one command each, under a term that is installed.
 * What is left out, against the whole script, is what cannot be otherwise then.
 *
 * - KEYS: the fence's; those of the commands. ARGV: what is installed, as it stands there; then for each command how many
 *   words it has, and these.
 * - Returns, after time and `done`: the places of the commands that were refused, or 0 for none; then for each command its
 *   reply or, if it was refused, the server's words | nothing: something else stands there, and nothing was changed; the whole
 *   script has to judge.
 */
export const singlesScript = defineThinScript(
  'the fenced batch',
  `if redis.pcall('GET', KEYS[1]) ~= ARGV[2] then return { now, done } end
local words, pcall = ARGV, redis.pcall
local answer, place, at, count = { now, done, 0 }, 1, 3, #words
while at < count do
  local last = at + words[at]
  local reply = pcall(unpack(words, at + 1, last))
  if type(reply) == 'table' and reply.err then
    local refused = answer[3] == 0 and {} or answer[3]
    refused[#refused + 1] = place
    answer[3], reply = refused, reply.err
  end
  answer[3 + place] = reply
  place, at = place + 1, last + 1
end
return answer
`,
);

/** KEYS: a fence's. Returns the installed term, nothing, or `corrupt`. */
export const termScript = defineScript(
  'the reading of the installed term',
  `${foreign}
${rule}
return (installedIn(KEYS[1]))
`,
);

/** KEYS: an effect's. Returns the recorded id, nothing, or `{ 'corrupt' }`. */
export const effectScript = defineScript(
  'the reading of a recorded effect',
  `${foreign}
local id = pcall('GET', KEYS[1])
if isForeign(id) then return { 'corrupt' } end
return id
`,
);
