import { defineScript, foreign } from '../../../drivers/redis/index.js';
import { historyLifeMs } from '../../history.js';
import { resumeScript } from '../../redis/index.js';

/**
 * Ends a suspension as a single server does, and remembers which one it was: a node that missed it can be told.
 *
 * - KEYS: those of `resume`; last the table of resumptions. ARGV: those of `resume`. Returns the same.
 */
export const resumeAndRememberScript = defineScript(
  'resume',
  `
local resumed = table.remove(KEYS)
local ended = pcall('HGET', KEYS[1], ARGV[3])
if type(ended) == 'string' then
  call('HSET', resumed, ARGV[3], ended)
  call('PEXPIRE', resumed, ${historyLifeMs})
end
${resumeScript.body}
`,
);

/**
 * What a node knows of a name's suspension and of the last one that was ended.
 *
 * - KEYS: the suspensions; the resumptions. ARGV: name. Returns the text of each, or nothing. Changes nothing.
 */
export const suspensionScript = defineScript(
  'suspension',
  `
local found = {}
for i = 1, 2 do
  local text = pcall('HGET', KEYS[i], ARGV[2])
  found[i] = type(text) == 'string' and text or false
end
return found
`,
);

/**
 * Ends a suspension that was ended elsewhere, and no other one.
 *
 * - KEYS: the suspensions. ARGV: name, its text. Returns nothing.
 */
export const forgetSuspensionScript = defineScript(
  'forgetSuspension',
  `${foreign}
local text = pcall('HGET', KEYS[1], ARGV[2])
if not isForeign(text) and text == ARGV[3] then call('HDEL', KEYS[1], ARGV[2]) end
return false
`,
);
