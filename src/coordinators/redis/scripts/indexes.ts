/**
 * Lua: how a key is kept that holds entries with a time of their own: it lives at least as long as the entry that was
 * just written. Needs `records`.
 */
export const indexes = `
local function keep(key, lifeMs)
  -- GT takes a key without a TTL for one that lives longest.
  if pcall('PEXPIRE', key, number(lifeMs), 'GT') == 0 and pcall('PTTL', key) == -1 then
    pcall('PEXPIRE', key, number(lifeMs))
  end
end
local function enter(index, name, lifeMs)
  local reply = pcall('ZADD', index, number(now + lifeMs), name)
  if type(reply) ~= 'table' then keep(index, lifeMs) end
  return reply
end`;
