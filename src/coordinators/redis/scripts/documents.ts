import { defineScript, foreign } from '../../../drivers/redis/index.js';

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
