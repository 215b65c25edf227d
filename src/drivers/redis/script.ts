import { createHash } from 'node:crypto';

/** A Lua script that refuses to run after its request's deadline. Made by {@link defineScript}. */
export interface RedisScript {
  /** For messages, e.g. `acquire`. */
  readonly name: string;
  /** What it was made from: another script may run it as a part of its own. */
  readonly body: string;
  readonly lua: string;
  readonly sha: string;
}

/** Keys and arguments of one run of a script, in the order that its heading gives. */
export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** Begins an error's message. Default: the name of the script. */
  readonly what?: string;
}

/**
 * Wraps the body of a script with what all of ours share.
 *
 * - `ARGV[1]` is the server time in milliseconds from which on nothing may be executed; the driver adds it, so a body's
 *   own arguments begin at `ARGV[2]`.
 * - `now` is the server's time in milliseconds, read once: within one script `TIME` moves while expiry stands still.
 * - The body returns one value. Numbers a double cannot hold, and all large ones, go out as text (`number`), since
 *   Redis cuts Lua's numbers to integers.
 */
export function defineScript(name: string, body: string): RedisScript {
  const lua = `-- tenure: ${name}
local call, pcall = redis.call, redis.pcall
local function number(value) return string.format('%.0f', value) end
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if now >= tonumber(ARGV[1]) then return { number(now), 'too-late' } end
local function run()
${body.trim()}
end
return { number(now), 'done', run() }
`;
  return { name, body, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** What a thin script says in the place of `done`: a number costs both sides less than a text. */
export const thinlyDone = 1;

/**
 * The same for a body where each microsecond counts: it is no function, has no names but those below, and returns the whole
 * answer, `{ now, done, ... }`, which is what a run of it resolves with. `now` may have a fraction, and goes out as the integer
 * below it.
 */
export function defineThinScript(name: string, body: string): RedisScript {
  const lua = `-- tenure: ${name}
local time, done = redis.call('TIME'), ${thinlyDone}
local now = time[1] * 1000 + time[2] / 1000
if now >= tonumber(ARGV[1]) then return { now, 'too-late' } end
${body}`;
  return { name, body, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Lua: `isForeign(reply)`, for the reply of a `pcall`: whether something of another type stands under that key. Any
 * other error ends the script as itself, so that a missing right does not look like a foreign value.
 */
export const foreign = `
local function isForeign(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  if string.find(reply.err, '^WRONGTYPE') then return true end
  error(reply)
end`;

/** A script that was refused a write after others were made says so: this word, then the server's own error. */
export const executedInPart = 'PARTLY';
