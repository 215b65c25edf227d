import { defineScript, foreign } from '../../../drivers/redis/index.js';
import { ballotForm } from '../merge/memories.js';

/**
 * Lua: the fields of a document. Texts that stand for ballots compare like texts: they are as long as each other.
 */
const document = `
${foreign}
-- What is none would be higher than all that are.
local function isBallot(text)
  return text == '' or #text == ${ballotForm.digits + 1 + ballotForm.random} and string.find(text, '^[0-8]%d+%.%x+$') ~= nil
end
local function fieldsOf(key)
  local fields = pcall('HMGET', key, 'ballot', 'version', 'nonce', 'promised')
  if isForeign(fields) then return nil end
  local isOurs = fields[1] or fields[4] or call('EXISTS', key) == 0
  local ballot, version, nonce, promised = fields[1] or '', fields[2] or '0', fields[3] or '', fields[4] or ''
  if not isOurs or not isBallot(ballot) or not isBallot(promised) then return nil end
  if (ballot == '') ~= (version == '0') or not string.find(version, '^%d+$') or #version > 15 or not string.find(nonce, '^%x*$') then return nil end
  return { ballot = ballot, version = version, nonce = nonce, promised = promised }
end`;

/**
 * What a node has accepted.
 *
 * - KEYS: the document. Returns ballot (empty: nothing), version, nonce and highest promise; or `corrupt`. Changes nothing.
 */
export const lookAtDocumentScript = defineScript(
  'lookAtDocument',
  `${document}
local found = fieldsOf(KEYS[1])
if not found then return 'corrupt' end
return { found.ballot, found.version, found.nonce, found.promised }
`,
);

/**
 * Promises to accept nothing of a lower ballot from now on.
 *
 * - KEYS: the document. ARGV: the ballot. Returns as `lookAtDocument`, with what was accepted before; or `corrupt`.
 * - Keeps true: a promise never falls.
 */
export const promiseDocumentScript = defineScript(
  'promiseDocument',
  `${document}
local found = fieldsOf(KEYS[1])
if not found then return 'corrupt' end
if ARGV[2] > found.promised then
  call('HSET', KEYS[1], 'promised', ARGV[2])
  found.promised = ARGV[2]
end
return { found.ballot, found.version, found.nonce, found.promised }
`,
);

/**
 * Accepts a text, unless a higher ballot was promised.
 *
 * - KEYS: the document. ARGV: the ballot; version; nonce; text. Returns `accepted`, `outbid` or `corrupt`.
 */
export const acceptDocumentScript = defineScript(
  'acceptDocument',
  `${document}
local found = fieldsOf(KEYS[1])
if not found then return 'corrupt' end
if ARGV[2] < found.promised then return 'outbid' end
call('HSET', KEYS[1], 'promised', ARGV[2], 'ballot', ARGV[2], 'version', ARGV[3], 'nonce', ARGV[4], 'text', ARGV[5])
return 'accepted'
`,
);

/**
 * The text that was accepted under a ballot.
 *
 * - KEYS: the document. ARGV: the ballot. Returns it, or nothing if another one was accepted since.
 */
export const documentTextScript = defineScript(
  'documentText',
  `${foreign}
local fields = pcall('HMGET', KEYS[1], 'ballot', 'text')
if isForeign(fields) or fields[1] ~= ARGV[2] then return false end
return fields[2]
`,
);
