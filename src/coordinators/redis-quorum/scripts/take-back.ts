import { defineScript } from '../../../drivers/redis/index.js';
import { records } from '../../redis/index.js';
import { claimMetadata } from '../merge/memories.js';

/** Lua: whether a record is a claim that is no lease yet. Needs `records`. */
export const claims = `
local function isClaim(record)
  return record.text ~= nil
    and string.find(record.text, '|${claimMetadata}', ${-claimMetadata.length - 1}, true) ~= nil
end`;

/**
 * Removes claims that are still the caller's.
 *
 * - KEYS: n leases; g indexes. ARGV: n; then for each lease: holder, attempt, name, number of its index. Returns nothing.
 * - Keeps true: a lease is left alone, whoever's it is: an attempt that is repeated may be in force since its first time.
 *   Nobody is called: whoever contended comes again by itself.
 */
export const takeBackScript = defineScript(
  'takeBack',
  `${records}
${claims}
local count = tonumber(ARGV[2])
for i = 1, count do
  local at, record = 3 + (i - 1) * 4, look(KEYS[i])
  local isOwn = record and isClaim(record) and record.holder == ARGV[at] and record.attempt == ARGV[at + 1]
  if isOwn then
    call('DEL', KEYS[i])
    pcall('ZREM', KEYS[count + tonumber(ARGV[at + 3])], ARGV[at + 2])
  end
end
return false
`,
);
