import type { FencingToken } from '../../fences/index.js';
import type { InstallRequest, PublishRequest, StepRequest } from '../contract.js';
import type { Batch } from './calls.js';
import {
  chunksOf,
  publishLimits,
  readCount,
  shardLimits,
  stepBytes,
  stepLimits,
} from './chunks.js';
import type { StreamKeys } from './keys.js';
import { backlogScript, installScript, publishScript, stepScript } from './scripts.js';

/*
 * Requests as keys and arguments of the scripts; what stands where is said above each script.
 */

/** Answers of `publish` for messages that came too late. */
export const lateAnswer = 'l';

/**
 * The owner of a log as the store keeps it: the holder's digest, not its wire form. Equality is all the log needs, and
 * the nonce in the wire form would let whoever reads this server release leases on another one.
 */
function ownerText({ term, holder }: FencingToken): string {
  return `1|${term}|${holder.digest}`;
}

export function publishBatch(
  requests: readonly PublishRequest[],
  keys: StreamKeys,
  dedupeWindowMs: number,
): Batch<PublishRequest> {
  return {
    script: publishScript,
    chunks: chunksOf(requests, publishLimits, ({ payload }) => Buffer.byteLength(payload)),
    lateAnswer,
    describe(chunk) {
      const indexOfShard = new Map<number, number>();
      const shardKeys: string[] = [];
      const idKeys: string[] = [];
      const messages: (string | number)[] = [];
      for (const { shard, key, id, payload, seq } of chunk) {
        const names = keys.shard(shard);
        let index = indexOfShard.get(shard);
        if (index === undefined) {
          index = indexOfShard.size + 1;
          indexOfShard.set(shard, index);
          shardKeys.push(names.log, names.keys);
        }
        idKeys.push(names.id(key, id));
        messages.push(index, key, seq ?? '', `${key}\0${id}\0${payload}`);
      }
      return {
        keys: [...shardKeys, ...idKeys],
        args: [dedupeWindowMs, keys.bell, indexOfShard.size, ...indexOfShard.keys(), ...messages],
      };
    },
  };
}

export function installBatch(
  requests: readonly InstallRequest[],
  keys: StreamKeys,
): Batch<InstallRequest> {
  return {
    script: installScript,
    chunks: chunksOf(requests, shardLimits, () => 1),
    describe: (chunk) => ({
      keys: chunk.map(({ shard }) => keys.shard(shard).owner),
      args: chunk.map(({ token }) => ownerText(token)),
    }),
  };
}

export function stepBatch(
  requests: readonly StepRequest[],
  keys: StreamKeys,
  largestPayloadBytes: number,
): Batch<StepRequest> {
  return {
    script: stepScript,
    chunks: chunksOf(requests, stepLimits, ({ acknowledge, limit }) => acknowledge.length + limit),
    describe(chunk) {
      const scriptKeys: string[] = [];
      const args: (string | number)[] = [stepBytes, readCount(largestPayloadBytes)];
      for (const { shard, token, acknowledge, after, limit } of chunk) {
        const { log, owner } = keys.shard(shard);
        scriptKeys.push(log, owner);
        args.push(ownerText(token), acknowledge.length, ...acknowledge);
        args.push(after === undefined ? '-' : `(${after}`, limit);
      }
      return { keys: scriptKeys, args };
    },
  };
}

export function backlogBatch(shards: readonly number[], keys: StreamKeys): Batch<number> {
  return {
    script: backlogScript,
    chunks: chunksOf(shards, shardLimits, () => 1),
    describe: (chunk) => ({ keys: chunk.map((shard) => keys.shard(shard).log), args: [] }),
  };
}
