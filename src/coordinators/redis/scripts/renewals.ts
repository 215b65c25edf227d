import { defineScript } from '../../../drivers/redis/index.js';
import { historyLifeMs } from '../../history.js';
import { indexes } from './indexes.js';
import { records } from './records.js';

/** How many records a renewal reads with one command; Lua passes at most 8,000 values. */
const readChunkCount = 1_000;

/**
 * Extends leases that are still the caller's. The path every holder takes all day, so it does as little as it can.
 *
 * - KEYS: n leases; g indexes; r histories.
 * - ARGV: n; g; then the number of runs and as many runs of leases in order, whose texts begin alike: how many, their
 *   beginning up to the ttl, the ttl in ms; then for each index how long to keep it; then m, and m times: number of the
 *   lease, new metadata; then for each of the r histories the entry that is refreshed along with it: number of the lease,
 *   name, number of its index, how long to keep it.
 * - Returns pairs of what was not renewed: number of the lease, `vanished`, `superseded` or `revoked`.
 * - Clock: the server's, for expiry.
 * - Keeps true: term and holder are compared whole; nothing is created; the term never changes; what an operator ended, or
 *   what is in its lock-delay, is not extended.
 */
export const renewScript = defineScript(
  'renew',
  `${records}
${indexes}
local count, indexCount, runCount = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local failed, isFailed, graceOf, isKept = {}, {}, {}, {}
local find = string.find

local function fail(i, reason)
  isFailed[i] = true
  failed[#failed + 1] = i
  failed[#failed + 1] = reason
end

-- Why the lease is not the caller's to renew; nothing if it is.
local function refusal(lease, owner)
  if not lease or lease.state == 'over' or lease.state == 'lock-delay' then return 'vanished' end
  if lease.state ~= 'held' or lease.term .. '|' .. lease.holder ~= owner then return 'superseded' end
  if lease.kind == 'X' then return 'revoked' end
end

-- Anything but a plain lease of the caller's with the ttl it was written with.
local function renewOther(i, prefix, ttl)
  local lease = look(KEYS[i])
  local reason = refusal(lease, string.match(prefix, '^2L|(%d+|[^|]+)'))
  if reason then return fail(i, reason) end
  graceOf[i], isKept[i] = lease.grace, lease.kept > 0
  local life = number(ttl + lease.grace + lease.kept)
  if lease.ttl == tonumber(ttl) then return call('PEXPIRE', KEYS[i], life) end
  local head, rest = string.match(lease.text, '^(2%a|%d+|[^|]+|)%d+(.*)$')
  call('SET', KEYS[i], head .. ttl .. rest, 'PX', life)
end

-- One MGET for many keys: unpack takes no more than some thousand.
local texts = {}
for from = 1, count, ${readChunkCount} do
  local chunk = call('MGET', unpack(KEYS, from, math.min(from + ${readChunkCount - 1}, count)))
  if from == 1 then texts = chunk else for j = 1, #chunk do texts[from + j - 1] = chunk[j] end end
end

local at, last = 5, 0
for run = 1, runCount do
  local prefix, ttl = ARGV[at + 1], ARGV[at + 2]
  for i = last + 1, last + tonumber(ARGV[at]) do
    local text = texts[i]
    -- A plain find compares without making a new string of the beginning.
    if text and find(text, prefix, 1, true) == 1 then
      call('PEXPIRE', KEYS[i], ttl)
    else
      renewOther(i, prefix, ttl)
    end
  end
  last = last + tonumber(ARGV[at])
  at = at + 3
end

for i = count + 1, count + indexCount do
  keep(KEYS[i], ARGV[at])
  at = at + 1
end

local metadataEnd = at + 2 * tonumber(ARGV[at])
for m = at + 1, metadataEnd, 2 do
  local i = tonumber(ARGV[m])
  if not isFailed[i] then
    local head = string.match(call('GET', KEYS[i]), '^2%a|%d+|[^|]+|%d+|%d+|%d+|%x+|%d+|')
    call('SET', KEYS[i], head .. ARGV[m + 1], 'KEEPTTL')
  end
end

local history = count + indexCount
for r = metadataEnd + 1, #ARGV, 4 do
  local i = tonumber(ARGV[r])
  history = history + 1
  if not isFailed[i] then
    enter(KEYS[count + tonumber(ARGV[r + 2])], ARGV[r + 1], ARGV[r + 3] + (graceOf[i] or 0))
    -- A term may last longer than any history is kept.
    if isKept[i] then pcall('PEXPIRE', KEYS[history], ${historyLifeMs}) end
  end
end
return failed
`,
);
