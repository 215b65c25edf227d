import { defineScript, type RedisScript } from '../../../drivers/redis/index.js';

/** The script that was made of this one before, or now: with the same name, and `body` around its own. */
export function derived(
  known: Map<RedisScript, RedisScript>,
  script: RedisScript,
  body: () => string,
): RedisScript {
  const found = known.get(script) ?? defineScript(script.name, body());
  known.set(script, found);
  return found;
}
