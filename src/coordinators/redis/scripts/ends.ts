import { defineScript } from '../../../drivers/redis/index.js';
import { histories } from './histories.js';
import { indexes } from './indexes.js';
import { queues } from './queues.js';
import { records } from './records.js';

/**
 * Ends leases that are still the caller's: frees each name, or reserves it for a successor.
 *
 * - KEYS: the suspensions; n leases; n histories; n queues; n tables of candidates; g indexes.
 * - ARGV: n; the beginning of the channels of calls; for each index its wake channel; then for each lease: holder, term
 *   (empty: any), attempt (empty: any), successor's id (empty: free it), reserve ms, reason, name, number of its index.
 * - Returns for each lease `ended`, `vanished`, `superseded` or, to a handoff, `revoked`.
 * - Clock: the server's, for the reservation's expiry and for the history.
 * - Keeps true: holder and term (or attempt) are compared whole; a clean end leaves no lock-delay; what an operator wanted
 *   for the time after the term follows; a wake or a call that cannot be sent undoes nothing. Only the first of the queue
 *   are called, of a reserved name its successor alone, of a suspended one nobody.
 */
export const endScript = defineScript(
  'end',
  `${records}
${indexes}
${histories}
${queues}
local count, callPrefix = tonumber(ARGV[2]), ARGV[3]
local firstIndex = 1 + 4 * count
local indexCount = #KEYS - firstIndex

-- Why the lease is not the caller's to end; nothing if it is.
local function refusal(lease, holder, term, attempt)
  if not lease or lease.state == 'over' or lease.state == 'lock-delay' then return 'vanished' end
  local isOwn = lease.state == 'held' and lease.holder == holder
    and (term == '' or term == lease.term) and (attempt == '' or attempt == lease.attempt)
  if not isOwn then return 'superseded' end
end

local function freeOrReserve(key, index, name, lease, to, reserve)
  if to == '' then
    call('DEL', key)
    pcall('ZREM', index, name)
  else
    call('SET', key, table.concat({ '2R', lease.term, to, reserve }, '|'), 'PX', reserve)
    enter(index, name, tonumber(reserve))
  end
end

local suspensionOf = suspensionsIn(KEYS[1])

local function finish(i)
  local at = 3 + indexCount + (i - 1) * 8
  local to, reserve, reason, name = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  local group = tonumber(ARGV[at + 8])
  local key, queue, candidates = KEYS[1 + i], KEYS[1 + 2 * count + i], KEYS[1 + 3 * count + i]
  local lease = look(key)
  local refused = refusal(lease, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  if refused then return refused end
  if lease.kind == 'X' then
    if to ~= '' then return 'revoked' end
    to, reserve, reason = lease.to, number(lease.reserve), 'revoked'
  end
  if lease.kept > 0 then closeLine(KEYS[1 + count + i], lease.term, now, reason) end
  freeOrReserve(key, KEYS[firstIndex + group], name, lease, to, reserve)
  pcall('PUBLISH', ARGV[3 + group], name)
  if suspensionOf(name) then return 'ended' end
  if to == '' then
    callFirst(callPrefix, queue, candidates, name)
  else
    callSuccessor(callPrefix, candidates, to, name)
  end
  return 'ended'
end

local results = {}
for i = 1, count do results[i] = finish(i) end
return results
`,
);
