import { defineScript } from '../../../drivers/redis/index.js';
import { histories, indexes, indexTtls, records, termLifeMs } from '../../redis/index.js';
import { claims } from './take-back.js';

/**
 * Makes leases of the claims that a majority has given: each in the one term that was chosen, which is from now on the last
 * one of this node, too.
 *
 * - KEYS: the last term; the suspensions; n leases; n histories; g indexes.
 * - ARGV: n; the term; the time of the grant; 1 if a majority has confirmed it, else 0; for each index its wake channel; then for each lease: holder, attempt, ttl in
 *   ms, metadata (empty: none), name, number of its index, lock-delay in ms, how long in ms it is remembered (0: not).
 * - Returns for each lease `confirmed`; `missing` if the name is free here, and `adopted` if that made it a lease; `suspended`;
 *   or `taken`.
 * - Clock: none but that of the keys' expiry; what is written down has the time that was given.
 * - Keeps true: only a claim of the same holder and attempt is a vote, since it shows that nobody else had the name here
 *   meanwhile. Where the name is free, nothing is written before a majority has the lease: it would look like one that
 *   a majority has, and be none. The same again extends nothing. The last term never falls.
 */
export const confirmScript = defineScript(
  'confirm',
  `${records}
${indexes}
${histories}
${claims}
local count, term = tonumber(ARGV[2]), tonumber(ARGV[3])
local realNow = now
now = tonumber(ARGV[4])
local firstIndex = 2 + 2 * count
local suspensionOf = suspensionsIn(KEYS[2])
local termText, grantedAt = number(term), number(now)

local last = pcall('GET', KEYS[1])
if isForeign(last) or (last and not string.find(last, '^%d+$')) then last = '0' end
if term > tonumber(last or '0') then
  call('SET', KEYS[1], termText, 'PX', number(math.max(term - realNow, 0) + ${termLifeMs}))
end

local function write(i, at)
  local holder, attempt, ttl, metadata = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local name, index = ARGV[at + 4], tonumber(ARGV[at + 5])
  local grace, kept = ARGV[at + 6], ARGV[at + 7]
  local isPlain = grace == '0' and kept == '0'
  if kept ~= '0' then
    local history, id = KEYS[2 + count + i], string.match(holder, '^[^:]+')
    closeLine(history)
    note(history, table.concat({ '1T', termText, id, grantedAt, '', '' }, '|'))
    pcall('PUBLISH', ARGV[5 + index], name)
  end
  local text = table.concat(
    { isPlain and '2L' or '2E', termText, holder, ttl, grace, kept, attempt, grantedAt, metadata }, '|')
  call('SET', KEYS[2 + i], text, 'PX', isPlain and ttl or number(ttl + grace + kept))
  now = realNow
  enter(KEYS[firstIndex + index], name, tonumber(ttl) * ${indexTtls} + tonumber(grace))
  now = tonumber(grantedAt)
end

local function confirm(i)
  local at = 6 + #KEYS - firstIndex + (i - 1) * 8
  if suspensionOf(ARGV[at + 4]) then return 'suspended' end
  local record = look(KEYS[2 + i])
  if not record or record.state == 'over' then
    if ARGV[5] ~= '1' then return 'missing' end
    write(i, at)
    return 'adopted'
  end
  local isOwn = record.state == 'held' and record.kind ~= 'X'
    and record.holder == ARGV[at] and record.attempt == ARGV[at + 1]
  if not isOwn then return 'taken' end
  if isClaim(record) or record.term ~= termText then write(i, at) end
  return 'confirmed'
end

local results = {}
for i = 1, count do results[i] = confirm(i) end
return results
`,
);
