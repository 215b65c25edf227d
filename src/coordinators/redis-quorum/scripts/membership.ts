import { defineScript } from '../../../drivers/redis/index.js';

/** What a node answers that has no marker and a last term: it granted leases as a single server. */
export const isUsedAlone = 'used-alone';

/**
 * What makes a node a member, and the last term of the namespace.
 *
 * - KEYS: the marker; the identity; the quarantine; the last term. Returns the text of each (nothing: there is none). Changes nothing.
 */
export const describeScript = defineScript(
  'describe',
  `
local found = {}
for i = 1, #KEYS do
  local text = pcall('GET', KEYS[i])
  found[i] = type(text) == 'string' and text or false
end
return found
`,
);

/**
 * Gives the node an id, unless it has one.
 *
 * - KEYS: the identity. ARGV: a random id. Returns the one that it has from now on.
 */
export const identifyScript = defineScript(
  'identify',
  `
call('SET', KEYS[1], ARGV[2], 'NX')
return call('GET', KEYS[1])
`,
);

/**
 * Makes a node of a new quorum a member.
 *
 * - KEYS: the marker; the identity; the quarantine; the last term. ARGV: the marker's text; the identity that is meant.
 * - Returns the marker that stands there then, nothing if the node has lost its memory since it was given that id, or
 *   `used-alone`.
 * - Keeps true: a marker is never replaced; what a single server granted is no quorum's. From the marker on, no script of a
 *   single server does anything here.
 */
export const enlistScript = defineScript(
  'enlist',
  `
local standing = call('GET', KEYS[1])
if standing then return standing end
if call('GET', KEYS[2]) ~= ARGV[3] then return false end
if call('EXISTS', KEYS[4]) == 1 then return '${isUsedAlone}' end
call('SET', KEYS[1], ARGV[2])
call('DEL', KEYS[3])
return ARGV[2]
`,
);

/**
 * How long the node has still to wait until every lease that it may have known is over; begins to wait if it has not.
 *
 * - KEYS: the marker; the quarantine. ARGV: how long it has to wait in ms. Returns what is left of that, 0 at the end.
 * - Clock: the node's. Set back meanwhile, it begins anew.
 */
export const quarantineScript = defineScript(
  'quarantine',
  `
if call('EXISTS', KEYS[1]) == 1 then return 0 end
local since = tonumber(call('GET', KEYS[2]) or '')
if not since or since > now then
  since = now
  call('SET', KEYS[2], number(now))
end
return number(math.max(0, since + tonumber(ARGV[2]) - now))
`,
);

/**
 * Begins to give a node its memory back.
 *
 * - KEYS: the marker; who is at it; the last term. ARGV: a random token; for how long in ms.
 * - Returns `begun`, `member` if it is one already, `used-alone`, or `busy` if somebody else is at it.
 */
export const beginSeedingScript = defineScript(
  'beginSeeding',
  `
if call('EXISTS', KEYS[1]) == 1 then return 'member' end
if call('EXISTS', KEYS[3]) == 1 then return '${isUsedAlone}' end
if call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return 'begun' end
return 'busy'
`,
);

/**
 * Writes down what others remember.
 *
 * - KEYS: the marker; who is at it. ARGV: the token; a JSON list of `{ key, kind, life, value }`, where `life` is in ms (0:
 *   without end) and `value` a text, or a list of texts: the items of a list, or fields and values, or members and scores.
 * - Returns 1, or 0 if the node is a member by now or somebody else is at it: then nothing was written.
 */
export const seedScript = defineScript(
  'seed',
  `
if call('EXISTS', KEYS[1]) == 1 or call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
for _, item in ipairs(cjson.decode(ARGV[3])) do
  local key, value = item.key, item.value
  call('DEL', key)
  if item.kind == 'string' then
    call('SET', key, value)
  else
    for at = 1, #value, 2 do
      if item.kind == 'list' then
        call('RPUSH', key, value[at])
        if value[at + 1] then call('RPUSH', key, value[at + 1]) end
      elseif item.kind == 'hash' then
        call('HSET', key, value[at], value[at + 1])
      else
        call('ZADD', key, value[at + 1], value[at])
      end
    end
  end
  if item.life > 0 then call('PEXPIRE', key, number(item.life)) end
end
return 1
`,
);

/**
 * Makes a node that has its memory back a member.
 *
 * - KEYS: the marker; who is at it; the quarantine; the identity; the last term. ARGV: the token; the marker's text; then, if
 *   others know it, the last term, and how long it is kept in ms.
 * - Returns `member`; `busy` if somebody else is at it, or the node has lost its memory anew; or `used-alone`.
 * - Keeps true: whoever compares the identity with an earlier one sees that there was a loss in between. The last term is
 *   written with the marker: one without the other was granted by the node as a single server, before or meanwhile.
 */
export const finishSeedingScript = defineScript(
  'finishSeeding',
  `
if call('EXISTS', KEYS[1]) == 1 or call('GET', KEYS[2]) ~= ARGV[2] then return 'busy' end
if call('EXISTS', KEYS[5]) == 1 then return '${isUsedAlone}' end
call('SET', KEYS[1], ARGV[3])
if ARGV[4] then call('SET', KEYS[5], ARGV[4]) end
if ARGV[4] and ARGV[5] ~= '0' then call('PEXPIRE', KEYS[5], ARGV[5]) end
call('SET', KEYS[4], ARGV[2])
call('DEL', KEYS[2], KEYS[3])
return 'member'
`,
);

/**
 * Lets go of a node whose memory could not be given back.
 *
 * - KEYS: who is at it. ARGV: the token. Returns nothing.
 */
export const abandonSeedingScript = defineScript(
  'abandonSeeding',
  `
if call('GET', KEYS[1]) == ARGV[2] then call('DEL', KEYS[1]) end
return false
`,
);

/**
 * What a member remembers, a part at a time.
 *
 * - KEYS: none; it finds them. On one server that is allowed. ARGV: cursor; pattern.
 * - Returns the next cursor (`0` after the last), and for each key: key, type, TTL in ms (-1: none), and its text, or a list
 *   of texts as `seed` takes them.
 * - Keeps true: what stands there from the first part to the last is in one of them. Changes nothing.
 */
export const recallScript = defineScript(
  'recall',
  `
local reply = call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', 500)
local readers = {
  string = function(key) return call('GET', key) end,
  list = function(key) return call('LRANGE', key, 0, -1) end,
  hash = function(key) return call('HGETALL', key) end,
  zset = function(key) return call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
}
local found = {}
for _, key in ipairs(reply[2]) do
  local kind = call('TYPE', key).ok
  if readers[kind] then found[#found + 1] = { key, kind, call('PTTL', key), readers[kind](key) } end
end
return { reply[1], found }
`,
);
