import { defineScript, foreign } from '../../../drivers/redis/index.js';
import { records } from './records.js';

/**
 * What stands under each name.
 *
 * - KEYS: the suspensions; n leases; with a list, also the group's index. ARGV: n; the names.
 * - Returns the time, and for each: text (nothing: free; empty: another type), PTTL, text of its suspension (nothing: none).
 * - Clock: the server's, for those who judge by it.
 * - Keeps true: changes no lease; of the index, forgets only names that are free in this same step.
 */
export const readScript = defineScript(
  'read',
  `${records}
local count = tonumber(ARGV[2])
local index = KEYS[count + 2]
local results = {}
local suspensionOf = suspensionsIn(KEYS[1])
for i = 1, count do
  local key, name = KEYS[1 + i], ARGV[2 + i]
  local text = pcall('GET', key)
  if isForeign(text) then
    results[i] = { '', -1, suspensionOf(name) }
  elseif text then
    results[i] = { text, call('PTTL', key), suspensionOf(name) }
  else
    results[i] = { false, -2, suspensionOf(name) }
    if index then pcall('ZREM', index, name) end
  end
end
return { number(now), results }
`,
);

/**
 * Cuts records that would outlive their own time down to it.
 *
 * - KEYS: the leases. Returns the numbers of those that were cut.
 * - Clock: the server's, for the new deadlines.
 * - Keeps true: nobody's time becomes longer, and whoever renews is not the worse for it.
 */
export const cutScript = defineScript(
  'cut',
  `${records}
local cut = {}
for i = 1, #KEYS do
  local record = look(KEYS[i])
  if record and record.isOdd then
    call('PEXPIRE', KEYS[i], record.whole)
    cut[#cut + 1] = i
  end
end
return cut
`,
);

/**
 * The names in a group's index, some of which may be free by now, and all suspended names of the namespace.
 *
 * - KEYS: the index; the suspensions. Returns both, or nothing if one is of another type. Changes nothing.
 */
export const membersScript = defineScript(
  'list',
  `${foreign}
local members, suspended = pcall('ZRANGE', KEYS[1], 0, -1), pcall('HKEYS', KEYS[2])
if isForeign(members) or isForeign(suspended) then return false end
return { members, suspended }
`,
);
