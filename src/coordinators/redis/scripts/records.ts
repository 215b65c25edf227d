import { foreign } from '../../../drivers/redis/index.js';
import { longestTtlMs } from '../../contract.js';
import { historyLifeMs } from '../../history.js';
import { ttlSlackMs } from '../limits.js';

/**
 * Lua: what stands under a name (see `../record.ts` for the texts).
 *
 * `look(key)` returns nothing for a free name, else a table. Its `state` is `foreign` (with `detail`), or `held`,
 * `lock-delay`, `reserved`, or `over`, which means free, but remembered. The table then holds the fields of the text,
 * `remaining` (ms until the key goes) and `left` (ms until the term ends; below 0: since it has ended). A suspension stands
 * elsewhere: `suspensionsIn(key)` returns a function that tells by name its text, or `false`. Whatever else stands in that
 * place counts as a suspension of every name: who cannot be asked grants nothing.
 *
 * A TTL that is none, or longer than the record was ever given, stands for a whole one; `isOdd` says so.
 */
export const records = `
${foreign}
local function parseLease(text)
  local kind, term, holder, ttl, grace, kept, attempt, rest =
    string.match(text, '^2([LEX])|(%d+)|([^|]+)|(%d+)|(%d+)|(%d+)|(%x+)|%d+|()')
  if not kind then return nil end
  local lease = {
    text = text, kind = kind, term = term, holder = holder, attempt = attempt,
    ttl = tonumber(ttl), grace = tonumber(grace), kept = tonumber(kept), reserve = 0,
  }
  if kind == 'L' and lease.grace + lease.kept > 0 then return nil end
  if kind == 'X' then
    local words, to, reserve = string.match(text, '^%d+|([^|]*)|([^|]*)|(%d+)|', rest)
    if not words then return nil end
    lease.words, lease.to, lease.reserve = words, to, tonumber(reserve)
  end
  return lease
end

local function parseReservation(text)
  local term, to, reserve = string.match(text, '^2R|(%d+)|([^|]+)|(%d+)$')
  if not term then return nil end
  return {
    text = text, kind = 'R', term = term, to = to,
    ttl = 0, grace = 0, kept = 0, reserve = tonumber(reserve),
  }
end

local function parse(text)
  local record = parseLease(text) or parseReservation(text)
  if not record or math.max(record.ttl, record.grace, record.reserve) > ${longestTtlMs} then
    return nil
  end
  if record.kept > ${historyLifeMs} then return nil end
  record.whole = record.ttl + record.grace + record.reserve + record.kept
  return record
end

-- After the term come the lock-delay, the reservation of a revoked lease, and the time in which it is remembered.
local function weigh(record, remaining)
  local left = remaining - record.grace - record.reserve - record.kept
  record.remaining, record.left, record.state = remaining, left, 'over'
  if record.ttl > 0 and left >= 0 then
    record.state = 'held'
  elseif record.grace > 0 and left + record.grace >= 0 then
    record.state = 'lock-delay'
  elseif record.reserve > 0 and left + record.grace + record.reserve >= 0 then
    record.state = 'reserved'
  end
  return record
end

local notOurs = { state = 'foreign', detail = 'a text that is no record' }

local function look(key)
  local text = pcall('GET', key)
  if isForeign(text) then return { state = 'foreign', detail = 'a value of another type' } end
  if not text then return nil end
  local record = parse(text)
  if not record then return notOurs end
  local remaining = call('PTTL', key)
  record.isOdd = remaining < 0 or remaining > record.whole + ${ttlSlackMs}
  return weigh(record, record.isOdd and record.whole or remaining)
end

local function suspensionsIn(key)
  if call('EXISTS', key) == 0 then return function() return false end end
  return function(name)
    local text = pcall('HGET', key, name)
    return isForeign(text) and 'another type' or text
  end
end`;
