import { defineScript } from '../../../drivers/redis/index.js';
import { historyCount } from '../../history.js';
import { histories } from './histories.js';
import { indexes } from './indexes.js';
import { queues } from './queues.js';
import { records } from './records.js';

/**
 * Lua: how a lease becomes a revoked one, and what operators leave in the history. `words` is who and why, as JSON without
 * a bar.
 */
const acts = `${records}
${indexes}
${histories}
local function noteAct(history, act, words, to)
  note(history, table.concat({ '1A', act, number(now), to, words }, '|'))
end

-- From now on the lease is a revoked one, with the deadline that it has.
local function revoke(key, index, name, lease, words, to, reserve)
  local head, rest = string.match(lease.text, '^2%a(|%d+|[^|]+|%d+|%d+|%d+|%x+|%d+|)(.*)$')
  if lease.kind == 'X' then rest = string.match(rest, '^%d+|[^|]*|[^|]*|%d+|(.*)$') end
  lease.text = '2X' .. head .. table.concat({ number(now), words, to, reserve, rest }, '|')
  -- In its last millisecond there are 0 left, which no key can be given.
  lease.remaining = math.max(1, lease.remaining - lease.reserve + reserve)
  call('SET', key, lease.text, 'PX', number(lease.remaining))
  enter(index, name, lease.remaining)
end
`;

/**
 * Ends the term of a lease by an operator's will.
 *
 * - KEYS: the suspensions; the lease; its history; its index. ARGV: words; successor's id (empty: none); reserve ms (0:
 *   none); name; term (empty: any); wake channel.
 * - Returns the time, and text (nothing: free; empty: another type), PTTL and text of the suspension (nothing: none) of what
 *   stands there now.
 * - Clock: the server's.
 * - Keeps true: the deadline stays; only a held lease of the term that is meant is changed, and the same act again, or one
 *   on a suspended name, changes nothing; a wake that cannot be sent undoes nothing.
 */
export const revokeScript = defineScript(
  'revoke',
  `${acts}
local words, to, reserve, name, term = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local suspension, record = suspensionsIn(KEYS[1])(name), look(KEYS[2])
if not record then return { number(now), false, -2, suspension } end
local isSame = record.kind == 'X'
  and record.words == words and record.to == to and number(record.reserve) == reserve
local isMeant = record.state == 'held' and (term == '' or term == record.term)
if isMeant and not isSame and not suspension then
  noteAct(KEYS[3], 'revoke', words, to)
  revoke(KEYS[2], KEYS[4], name, record, words, to, reserve)
  pcall('PUBLISH', ARGV[7], name)
end
return { number(now), record.text or '', record.remaining or -1, suspension }
`,
);

/**
 * Grants the name to nobody from now on, and revokes the lease that stands there.
 *
 * - KEYS: the suspensions; the lease; its history; its index. ARGV: words; name; wake channel.
 * - Returns the time, and text (nothing: free; empty: another type), PTTL and text of the suspension of what stands there
 *   now; or `corrupt` if the suspensions are of another type.
 * - Clock: the server's.
 * - Keeps true: a suspension has no TTL, and stands beside the lease, so that nobody who removes that one resumes the name;
 *   the first one stays. The same act again leaves no second line. A wake that cannot be sent undoes nothing.
 */
export const suspendScript = defineScript(
  'suspend',
  `${acts}
local words, name = ARGV[2], ARGV[3]
local first = pcall('HGET', KEYS[1], name)
if isForeign(first) then return { 'corrupt' } end

-- The last act's words; the history may have forgotten it.
local function lastWords()
  for i = -1, ${-historyCount}, -1 do
    local line = pcall('LINDEX', KEYS[3], i)
    if not line or isForeign(line) then break end
    local theirs = string.match(line, '^1A|%a+|%d+|[^|]*|(.*)$')
    if theirs then return theirs end
  end
  return string.match(first, '^1|%d+|(.*)$')
end

local record = look(KEYS[2])
local suspension = first or table.concat({ '1', number(now), words }, '|')
if not first or lastWords() ~= words then noteAct(KEYS[3], 'suspend', words, '') end
if not first then call('HSET', KEYS[1], name, suspension) end
local isEnding = record and record.state == 'held' and record.kind ~= 'X'
if isEnding then revoke(KEYS[2], KEYS[4], name, record, words, '', '0') end
if isEnding or not first then pcall('PUBLISH', ARGV[4], name) end
if not record then return { number(now), false, -2, suspension } end
return { number(now), record.text or '', record.remaining or -1, suspension }
`,
);

/**
 * Ends a suspension: whatever stands under the name, counts again.
 *
 * - KEYS: the suspensions; the lease; its history; its queue; its table of candidates. ARGV: words; name; wake channel; the
 *   beginning of the channels of calls.
 * - Returns 1, or 0 if the name was not suspended; or `corrupt` if the suspensions are of another type, `foreign` if this
 *   one is no text of ours.
 * - Clock: the server's, for the history.
 * - Keeps true: what is not ours stays, and the name suspended; a term that was revoked keeps its deadline, its lock-delay
 *   and its successor. If the name is free now, the first of the queue are called, if it is reserved, its successor.
 */
export const resumeScript = defineScript(
  'resume',
  `${acts}
${queues}
local words, name, callPrefix = ARGV[2], ARGV[3], ARGV[5]
local suspension = pcall('HGET', KEYS[1], name)
if isForeign(suspension) then return 'corrupt' end
if not suspension then return 0 end
-- Words are a list of two texts; without their escapes, neither holds a quote.
local theirs = string.gsub(string.match(suspension, '^1|%d+|([^|]*)$') or '', '\\\\.', '')
if not string.find(theirs, '^%s*%[%s*"[^"]*"%s*,%s*"[^"]*"%s*%]%s*$') then return 'foreign' end
noteAct(KEYS[3], 'resume', words, '')
call('HDEL', KEYS[1], name)
pcall('PUBLISH', ARGV[4], name)
local record = look(KEYS[2])
if not record or record.state == 'over' then
  callFirst(callPrefix, KEYS[4], KEYS[5], name)
elseif record.state == 'reserved' then
  callSuccessor(callPrefix, KEYS[5], record.to, name)
end
return 1
`,
);

/**
 * The lines of a name's history.
 *
 * - KEYS: the lease; its history. Returns the lines, oldest first; or `corrupt`.
 * - Clock: the server's, for the end of a term whose record somebody removed.
 * - Keeps true: a term that has ended has its end in the line from now on.
 */
export const historyScript = defineScript(
  'history',
  `${records}
${histories}
local record = look(KEYS[1])
settle(KEYS[2], record)
local lines = pcall('LRANGE', KEYS[2], 0, -1)
if isForeign(lines) then return 'corrupt' end
return lines
`,
);
