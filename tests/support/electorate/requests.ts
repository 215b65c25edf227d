import type { Socket } from 'node:net';
import { unlessOfQuorum } from '../../../src/coordinators/redis/scripts/alone.js';
import type { RedisScript } from '../../../src/drivers/redis/index.js';
import type { FaultProxy } from '../proxy.js';

/*
 * Faults that hit one certain request to Redis. A connection that lost something in the middle would be no TCP: so what
 * follows on the same connection is lost as well, while new ones work.
 */

/** Swallows the next run of the script, and whatever is sent after it on its connection. Resolves when it has. */
export function swallowRequest(proxy: FaultProxy, script: RedisScript): Promise<void> {
  return new Promise((resolve) => {
    let dead: Socket | undefined;
    proxy.up.set({
      kind: 'judge',
      fateOf(bytes, from) {
        if (dead === undefined && carries(bytes, script)) {
          dead = from;
          resolve();
        }
        return from === dead ? 'swallow' : 'none';
      },
    });
  });
}

/** The next run of the script is executed, but neither its answer nor a later one on its connection comes. */
export function swallowReply(proxy: FaultProxy, script: RedisScript): Promise<void> {
  return new Promise((resolve) => {
    let deaf: Socket | undefined;
    proxy.up.set({
      kind: 'judge',
      fateOf(bytes, from) {
        if (carries(bytes, script)) deaf ??= from;
        return 'none';
      },
    });
    proxy.down.set({
      kind: 'judge',
      fateOf(_, __, to) {
        if (to !== deaf) return 'none';
        resolve();
        return 'swallow';
      },
    });
  });
}

/** From the next run of the script on, holds everything on the way to the server until the proxy heals. */
export function holdRequests(proxy: FaultProxy, script: RedisScript): Promise<void> {
  return new Promise((resolve) => {
    let isHolding = false;
    proxy.up.set({
      kind: 'judge',
      fateOf(bytes) {
        if (!isHolding && carries(bytes, script)) {
          isHolding = true;
          resolve();
        }
        return isHolding ? 'hold' : 'none';
      },
    });
  });
}

/** By its digest, as it runs at a server that is no node of a quorum; or by its name, where the server does not know it yet. */
function carries(bytes: Buffer, script: RedisScript): boolean {
  const { sha } = unlessOfQuorum(script);
  return bytes.includes(sha) || bytes.includes(`-- tenure: ${script.name}\n`);
}
