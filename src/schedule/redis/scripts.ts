import { defineScript } from '../../drivers/redis/index.js';

/*
 * Scripts take the six keys of a job in the order of `JobKeys`; `at` is the number of the first. They decide nothing: what
 * is written was decided by the rules of all stores, on what had been read at a revision, and is written only if that is
 * still the one that stands there.
 */

/** How many ended runs one write forgets at most: a script holds everybody up. The next one goes on. */
const mostForgotten = 1_000;

/** Lua: what stands of a job: nothing, `corrupt`, or all of it. */
const standing = `
local types = { 'hash', 'hash', 'zset', 'zset', 'list', 'hash' }
-- Each member of the sorted sets is the id of a run; in a long history nobody would come across one that is not.
local function isOurs(at)
  for i, type in ipairs(types) do
    local is = call('TYPE', KEYS[at + i - 1]).ok
    if is ~= 'none' and is ~= type then return false end
  end
  local members = call('ZCARD', KEYS[at + 2]) + call('ZCARD', KEYS[at + 3])
  return members <= call('HLEN', KEYS[at + 1])
end

local function latestEnded(at)
  local id = call('ZRANGE', KEYS[at + 3], -1, -1)[1]
  return id and call('HGET', KEYS[at + 1], id)
end

local function standing(at)
  local row = call('HMGET', KEYS[at], 'revision', 'record', 'pause')
  if not row[1] then return {} end
  local openIds, open = call('ZRANGE', KEYS[at + 2], 0, -1), {}
  for i, id in ipairs(openIds) do open[i] = call('HGET', KEYS[at + 1], id) end
  return {
    row[1], row[2], row[3], open, openIds, latestEnded(at) or false,
    call('LRANGE', KEYS[at + 4], 0, -1), call('HVALS', KEYS[at + 5])
  }
end`;

/**
 * - KEYS: those of each job.
 * - ARGV: for each job the id of a run that is wanted beside it, or nothing.
 * - Returns the server's time and, for each job, `corrupt`, or what stands of it (nothing: no such job; else revision,
 *   record, pause, open runs, their ids, the latest ended run, requests, cancellations) and the wanted run.
 */
export const lookScript = defineScript(
  'a look at jobs',
  `${standing}
local found = { number(now) }
for i = 2, #ARGV do
  local at = (i - 2) * 6 + 1
  if isOurs(at) then
    local wanted = ARGV[i] ~= '' and call('HGET', KEYS[at + 1], ARGV[i])
    found[i] = { standing(at), wanted }
  else
    found[i] = 'corrupt'
  end
end
return found
`,
);

/**
 * Writes what was decided on what stood there at a revision, if that is the revision still.
 *
 * - KEYS: the names of all jobs; those of the job.
 * - ARGV: the revision (empty: there was no job); name; record; pause (empty: none); how many ended runs are kept (empty:
 *   all); a new request and a new cancellation (empty: none) with the id of its run before it; r, and r times id, tick,
 *   `1` if it is open, and text of a run; the texts of requests that are done.
 * - Returns `changed` | `corrupt`, with no effect | what stands there now, as the look does.
 * - Keeps true: whatever is executed late or twice finds another revision, and has no effect. The record is written last:
 *   what a missing right leaves undone moves no time on.
 */
export const writeScript = defineScript(
  'a write of a job',
  `${standing}
if not isOurs(2) then return 'corrupt' end
local row, runs, open, ended, requests, cancellations = unpack(KEYS, 2)
if (call('HGET', row, 'revision') or '') ~= ARGV[2] then return 'changed' end

if ARGV[2] == '' then call('HSET', row, 'revision', number(now)) end
call('HINCRBY', row, 'revision', 1)
if ARGV[7] ~= '' then call('RPUSH', requests, ARGV[7]) end
if ARGV[9] ~= '' then call('HSET', cancellations, ARGV[8], ARGV[9]) end
local last = 10 + 4 * tonumber(ARGV[10])
for i = 11, last, 4 do
  local id, tick, isOpen, text = unpack(ARGV, i, i + 3)
  call('HSET', runs, id, text)
  call('ZREM', isOpen == '1' and ended or open, id)
  call('ZADD', isOpen == '1' and open or ended, tick, id)
  if isOpen ~= '1' then call('HDEL', cancellations, id) end
end
for i = last + 1, #ARGV do call('LREM', requests, 1, ARGV[i]) end
if ARGV[6] ~= '' then
  local surplus = call('ZCARD', ended) - tonumber(ARGV[6])
  if surplus > 0 then
    local ids = call('ZRANGE', ended, 0, math.min(surplus, ${mostForgotten}) - 1)
    call('HDEL', runs, unpack(ids))
    call('ZREM', ended, unpack(ids))
  end
end
if ARGV[5] == '' then call('HDEL', row, 'pause') else call('HSET', row, 'pause', ARGV[5]) end
call('SADD', KEYS[1], ARGV[3])
call('HSET', row, 'record', ARGV[4])
return standing(2)
`,
);

/**
 * Removes all that stands of a job, if it is at that revision still.
 *
 * - KEYS: the names of all jobs; those of the job.
 * - ARGV: the revision, or `*` for a job that has none that could be read; its name.
 * - Returns `changed` with no effect | nothing.
 */
export const forgetScript = defineScript(
  'the removal of a job',
  `
if ARGV[2] ~= '*' and call('HGET', KEYS[2], 'revision') ~= ARGV[2] then return 'changed' end
call('UNLINK', unpack(KEYS, 3))
call('SREM', KEYS[1], ARGV[3])
call('UNLINK', KEYS[2])
return {}
`,
);

/**
 * - KEYS: those of a job. ARGV: the time before which they are due, as the end of a range; how many.
 * - Returns `corrupt`, or so many of the open runs and so many of the ended ones, each from the latest tick on.
 */
export const runsScript = defineScript(
  'the history of a job',
  `${standing}
if not isOurs(1) then return 'corrupt' end
local found = {}
for _, set in ipairs({ KEYS[3], KEYS[4] }) do
  for _, id in ipairs(call('ZREVRANGEBYSCORE', set, ARGV[2], '-inf', 'LIMIT', 0, ARGV[3])) do
    found[#found + 1] = call('HGET', KEYS[2], id)
  end
end
return found
`,
);

/** KEYS: the names of all jobs. Returns them, or `corrupt`. */
export const namesScript = defineScript(
  'the list of jobs',
  `
local is = call('TYPE', KEYS[1]).ok
if is ~= 'none' and is ~= 'set' then return 'corrupt' end
return call('SMEMBERS', KEYS[1])
`,
);
