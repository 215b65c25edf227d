import { calledCount } from '../../candidates.js';
import { ttlSlackMs } from '../limits.js';

/** How many dead entries at the head of a queue one step forgets. */
const pruneCount = 16;

/**
 * Lua: who waits for a name, and how they are called (see `../candidate.ts` for the texts). Needs `records`.
 *
 * All of it is a service to those who wait: a missing right or a foreign type stops no release.
 */
export const queues = `
-- The parts of a live entry; nothing if there is none.
local function liveEntry(candidates, digest)
  local field = 'd:' .. digest
  local text = pcall('HGET', candidates, field)
  if type(text) ~= 'string' then return nil end
  local head, id, standing, preference, since, refreshed, ttl, rest =
    string.match(text, '^(1|([^|]+)|(%a+)|(%d+)|(%d+)|)(%d+)|(%d+)|()')
  if not head then return nil end
  refreshed = tonumber(refreshed)
  if refreshed > now + ${ttlSlackMs} then
    -- The clock was set back: from now on it has one ttl like everybody, and so a dead one does not stay.
    refreshed = now
    pcall('HSET', candidates, field, table.concat({ head, number(now), '|', ttl, '|', string.sub(text, rest) }))
  end
  if refreshed + tonumber(ttl) <= now then return nil end
  return { id = id, standing = standing, preference = tonumber(preference), since = since }
end

local function forget(queue, candidates, digest)
  pcall('ZREM', queue, digest)
  pcall('HDEL', candidates, 'd:' .. digest)
end

-- The first of the queue who live; some of the dead before them are forgotten.
local function firstWaiting(queue, candidates)
  local first = {}
  local digests = pcall('ZRANGE', queue, 0, ${calledCount + pruneCount - 1})
  if type(digests) ~= 'table' or digests.err then return first end
  for _, digest in ipairs(digests) do
    local entry = liveEntry(candidates, digest)
    if entry and entry.standing == 'waiting' then
      first[#first + 1] = digest
      if #first == ${calledCount} then return first end
    else
      forget(queue, candidates, digest)
    end
  end
  return first
end

local function callFirst(callPrefix, queue, candidates, name)
  for position, digest in ipairs(firstWaiting(queue, candidates)) do
    pcall('PUBLISH', callPrefix .. digest, (position - 1) .. '|' .. name)
  end
end

-- The incarnation of a holder id that enrolled last.
local function callSuccessor(callPrefix, candidates, to, name)
  local digest = pcall('HGET', candidates, 'i:' .. to)
  if type(digest) ~= 'string' then return end
  local entry = liveEntry(candidates, digest)
  if entry and entry.standing == 'waiting' then pcall('PUBLISH', callPrefix .. digest, '0|' .. name) end
end`;
