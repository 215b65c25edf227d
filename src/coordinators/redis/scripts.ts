import { defineScript, foreign } from '../../drivers/redis/index.js';
import { highestTerm } from '../term.js';

/*
 * Every script reads the server's clock once, as `now`, and refuses to run after its request's deadline; both come from
 * `defineScript`. Expiry is the server's own (PX), by the same clock. Keys are all declared; each script takes first
 * the keys of the leases, in order, and then those of the groups' indexes.
 *
 * A foreign type under one of our keys is met with `pcall` and left alone. What a script writes first is refused when
 * the server is out of memory or read-only, so a refused batch has changed nothing.
 */

/** How long after its last refresh a name stays in its group's index, in ttls: longer than any lease lives unrefreshed. */
export const indexTtls = 8;
/** After how many ttls a renewal refreshes the entry in the index. */
export const indexRefreshTtls = 4;

/**
 * How much longer than its own ttl a record may live before that counts as tampering, or a clock that was stepped back.
 * Room for a clock that is being slewed.
 */
const ttlSlackMs = 1_000;
const longestTtlMs = 24 * 60 * 60 * 1000;
/** The last term outlives the moment at which the server's clock passes it by this much; from then on the clock serves. */
const termTtlMs = 30 * 24 * 60 * 60 * 1000;
/** How many entries of an index one acquire forgets. */
const pruneCount = 8;
/** How many records a renewal reads with one command; Lua passes at most 8,000 values. */
const readChunkCount = 1_000;

/**
 * Shared by scripts: what is a foreign type, and how an index is written. The whole index lives at least as
 * long as the entry that was just written.
 */
const shared = `
${foreign}
local function keepIndex(index, lifeMs)
  -- GT takes a key without a TTL for one that lives longest.
  if pcall('PEXPIRE', index, lifeMs, 'GT') == 0 and pcall('PTTL', index) == -1 then
    pcall('PEXPIRE', index, lifeMs)
  end
end
local function enter(index, name, lifeMs)
  local reply = pcall('ZADD', index, number(now + lifeMs), name)
  if type(reply) ~= 'table' then keepIndex(index, lifeMs) end
  return reply
end`;

/**
 * Grants what is free or reserved for the holder's id.
 *
 * - KEYS: the last term; n leases; g indexes.
 * - ARGV: n; the highest of all `above`; then for each lease: holder, attempt, ttl in ms, `above` (0: none), metadata
 *   (empty: none), name, number of its index.
 * - Returns `no-term` if terms are used up, `bad-term` if the last term is not one; else for each lease a list:
 *   `granted`, term | `held`, text, PTTL, `repaired` or nothing | `corrupt`, detail.
 * - Clock: the server's, for the term and for expiry.
 * - Keeps true: the term is taken in the step that grants and written before the leases. It is one for all that is
 *   granted here, the largest of last + 1, now, and `above` + 1 of each: a term for each name would run ahead of the
 *   clock, which is all that keeps terms rising once the last one is lost. The same attempt is answered with the same
 *   term and extends nothing; a record that would outlive its own ttl is cut down to it, so that a lost TTL or a clock
 *   that was stepped back blocks a name for one ttl at most.
 */
export const acquireScript = defineScript(
  'acquire',
  `${shared}
local count, highestAbove = tonumber(ARGV[2]), tonumber(ARGV[3])
local last = pcall('GET', KEYS[1])
if isForeign(last) or (last and not string.find(last, '^%d+$')) then return 'bad-term' end
last = tonumber(last or '0')
if math.max(last, now, highestAbove) >= ${highestTerm} then return 'no-term' end

local function repair(key, ownTtl)
  local remaining = call('PTTL', key)
  if remaining >= 0 and remaining <= ownTtl + ${ttlSlackMs} then return remaining, false end
  call('PEXPIRE', key, ownTtl)
  return ownTtl, 'repaired'
end

-- What stands in the way; nothing if the name may be granted.
local function obstacle(key, holder, attempt)
  local text = pcall('GET', key)
  if isForeign(text) then return { 'corrupt', 'a value of another type' } end
  if not text then return nil end
  local term, owner, ttlOfOwner, theirAttempt = string.match(text, '^1L|(%d+)|([^|]+)|(%d+)|(%x+)|')
  local to, reserve = string.match(text, '^1R|%d+|([^|]+)|(%d+)$')
  local ownTtl = tonumber(ttlOfOwner or reserve)
  if not ownTtl or ownTtl > ${longestTtlMs} then return { 'corrupt', 'a text that is no record' } end
  if owner == holder and theirAttempt == attempt then return { 'granted', term } end
  if to == nil or to ~= string.match(holder, '^[^:]+') then
    local remaining, repaired = repair(key, ownTtl)
    return { 'held', text, remaining, repaired }
  end
end

for i = 2 + count, #KEYS do
  local stale = pcall('ZRANGEBYSCORE', KEYS[i], '-inf', number(now), 'LIMIT', 0, ${pruneCount})
  if not isForeign(stale) and #stale > 0 then call('ZREM', KEYS[i], unpack(stale)) end
end

local results, free, term = {}, {}, math.max(last + 1, now)
for i = 1, count do
  local at = 4 + (i - 1) * 7
  results[i] = obstacle(KEYS[1 + i], ARGV[at], ARGV[at + 1])
  if not results[i] then
    local index = KEYS[1 + count + tonumber(ARGV[at + 6])]
    if isForeign(enter(index, ARGV[at + 5], tonumber(ARGV[at + 2]) * ${indexTtls})) then
      results[i] = { 'corrupt', 'an index of another type' }
    else
      free[#free + 1] = i
      term = math.max(term, tonumber(ARGV[at + 3]) + 1)
    end
  end
end
if #free == 0 then return results end

local termText, grantedAt = number(term), number(now)
call('SET', KEYS[1], termText, 'PX', number(math.max(term - now, 0) + ${termTtlMs}))
for _, i in ipairs(free) do
  local at = 4 + (i - 1) * 7
  local holder, attempt, ttl, metadata = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
  local record = table.concat({ '1L', termText, holder, ttl, attempt, grantedAt, metadata }, '|')
  call('SET', KEYS[1 + i], record, 'PX', ttl)
  results[i] = { 'granted', termText }
end
return results
`,
);

/**
 * Extends leases that are still the caller's. The path every holder takes all day, so it does as little as it can.
 *
 * - KEYS: n leases; g indexes.
 * - ARGV: n; r; then r runs of leases in order, whose texts begin alike: how many, their beginning up to the ttl, the ttl
 *   in ms; then for each index how long to keep it; then m, and m times: number of the lease, new metadata; then the
 *   entries to refresh: number of the lease, name, number of its index, how long to keep it.
 * - Returns pairs of what was not renewed: number of the lease, `vanished` or `superseded`.
 * - Clock: the server's, for expiry.
 * - Keeps true: term and holder are compared whole; nothing is created; the term never changes.
 */
export const renewScript = defineScript(
  'renew',
  `${shared}
local count, runCount = tonumber(ARGV[2]), tonumber(ARGV[3])
local failed, isFailed = {}, {}
local find, sub = string.find, string.sub

local function fail(i, reason)
  isFailed[i] = true
  failed[#failed + 1] = i
  failed[#failed + 1] = reason
end

-- The ttl is not the one the record was written with, or the lease is not the caller's.
local function renewOther(i, text, prefix, ttl)
  if not text then
    -- MGET answers nothing for another type, too.
    return fail(i, call('EXISTS', KEYS[i]) == 1 and 'superseded' or 'vanished')
  end
  local ownLength = #prefix - #ttl - 1
  if sub(text, 1, ownLength) ~= sub(prefix, 1, ownLength) then return fail(i, 'superseded') end
  local rest = string.match(text, '^%d+|(.*)$', ownLength + 1)
  call('SET', KEYS[i], prefix .. rest, 'PX', ttl)
end

-- One MGET for many keys: unpack takes no more than some thousand.
local texts = {}
for from = 1, count, ${readChunkCount} do
  local chunk = call('MGET', unpack(KEYS, from, math.min(from + ${readChunkCount - 1}, count)))
  if from == 1 then texts = chunk else for j = 1, #chunk do texts[from + j - 1] = chunk[j] end end
end

local at, last = 4, 0
for run = 1, runCount do
  local prefix, ttl = ARGV[at + 1], ARGV[at + 2]
  for i = last + 1, last + tonumber(ARGV[at]) do
    local text = texts[i]
    -- A plain find compares without making a new string of the beginning.
    if text and find(text, prefix, 1, true) == 1 then
      call('PEXPIRE', KEYS[i], ttl)
    else
      renewOther(i, text, prefix, ttl)
    end
  end
  last = last + tonumber(ARGV[at])
  at = at + 3
end

for i = count + 1, #KEYS do
  keepIndex(KEYS[i], ARGV[at])
  at = at + 1
end

local metadataEnd = at + 2 * tonumber(ARGV[at])
for m = at + 1, metadataEnd, 2 do
  local i = tonumber(ARGV[m])
  if not isFailed[i] then
    local head = string.match(call('GET', KEYS[i]), '^1L|%d+|[^|]+|%d+|%x+|%d+|')
    call('SET', KEYS[i], head .. ARGV[m + 1], 'KEEPTTL')
  end
end

for r = metadataEnd + 1, #ARGV, 4 do
  if not isFailed[tonumber(ARGV[r])] then
    enter(KEYS[count + tonumber(ARGV[r + 2])], ARGV[r + 1], tonumber(ARGV[r + 3]))
  end
end
return failed
`,
);

/**
 * Ends leases that are still the caller's: frees each name, or reserves it for a successor.
 *
 * - KEYS: n leases; g indexes.
 * - ARGV: n; then for each index its wake channel; then for each lease: holder, term (empty: any), attempt (empty:
 *   any), successor's id (empty: free it), reserve ms, name, number of its index.
 * - Returns for each lease `ended`, `vanished` or `superseded`.
 * - Clock: the server's, for the reservation's expiry.
 * - Keeps true: holder and term (or attempt) are compared whole; a wake that cannot be sent undoes nothing.
 */
export const endScript = defineScript(
  'end',
  `${shared}
local count = tonumber(ARGV[2])
local indexCount = #KEYS - count

local function finish(i)
  local at = 3 + indexCount + (i - 1) * 7
  local holder, term, attempt = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local to, reserve, name = ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  local group = tonumber(ARGV[at + 6])
  local text = pcall('GET', KEYS[i])
  if not text then return 'vanished' end
  if isForeign(text) then return 'superseded' end
  local theirTerm, owner, theirAttempt = string.match(text, '^1L|(%d+)|([^|]+)|%d+|(%x+)|')
  local isOwn = owner == holder and (term == '' or term == theirTerm)
    and (attempt == '' or attempt == theirAttempt)
  if not isOwn then return 'superseded' end
  local index = KEYS[count + group]
  if to == '' then
    call('DEL', KEYS[i])
    pcall('ZREM', index, name)
  else
    call('SET', KEYS[i], table.concat({ '1R', theirTerm, to, reserve }, '|'), 'PX', reserve)
    enter(index, name, tonumber(reserve))
  end
  pcall('PUBLISH', ARGV[2 + group], name)
  return 'ended'
end

local results = {}
for i = 1, count do results[i] = finish(i) end
return results
`,
);

/**
 * What stands under each name.
 *
 * - KEYS: n leases; with a list, also the group's index. ARGV: n; with a list, the names.
 * - Returns for each a pair: text (nothing: free; empty: another type) and PTTL.
 * - Keeps true: changes no lease; of the index, forgets only names that are free in this same step.
 */
export const readScript = defineScript(
  'read',
  `${shared}
local count = tonumber(ARGV[2])
local index = KEYS[count + 1]
local results = {}
for i = 1, count do
  local text = pcall('GET', KEYS[i])
  if isForeign(text) then
    results[i] = { '', -1 }
  elseif text then
    results[i] = { text, call('PTTL', KEYS[i]) }
  else
    results[i] = { false, -2 }
    if index then pcall('ZREM', index, ARGV[2 + i]) end
  end
end
return results
`,
);

/**
 * The names in a group's index, some of which may be free by now.
 *
 * - KEYS: the index. Returns the names, or nothing if something else stands there. Changes nothing.
 */
export const membersScript = defineScript(
  'list',
  `${shared}
local members = pcall('ZRANGE', KEYS[1], 0, -1)
if isForeign(members) then return false end
return members
`,
);

/**
 * Lua: `readFields(key)`, the version and text of a document (nothing: there is none), or `nil` if something else stands
 * there, such as a hash without a version, or with one that no further write could count up from.
 */
const document = `
${foreign}
local function readFields(key)
  local fields = pcall('HMGET', key, 'version', 'text')
  if isForeign(fields) then return nil end
  local version, text = fields[1], fields[2]
  if not version and not text then
    if call('EXISTS', key) == 1 then return nil end
    return fields
  end
  if not version or not text or not string.find(version, '^[1-9]%d*$') then return nil end
  if tonumber(version) >= ${Number.MAX_SAFE_INTEGER} then return nil end
  return fields
end`;

/**
 * - KEYS: the document. Returns version and text (nothing: there is none), or `corrupt`. Changes nothing.
 */
export const readDocumentScript = defineScript(
  'readDocument',
  `${document}
return readFields(KEYS[1]) or 'corrupt'
`,
);

/**
 * Writes a document if its version is the expected one.
 *
 * - KEYS: the document. ARGV: expected version (0: it must not exist), text.
 * - Returns `written`, version | `conflict`, version and text of the current one (nothing: there is none) | `corrupt`.
 */
export const writeDocumentScript = defineScript(
  'writeDocument',
  `${document}
local fields = readFields(KEYS[1])
if not fields then return { 'corrupt' } end
local version = tonumber(fields[1] or '0')
if version ~= tonumber(ARGV[2]) then return { 'conflict', fields[1], fields[2] } end
call('HSET', KEYS[1], 'version', number(version + 1), 'text', ARGV[3])
return { 'written', number(version + 1) }
`,
);
