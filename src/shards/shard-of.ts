import { createHash } from 'node:crypto';
import { OptionError } from '../errors/index.js';

export const defaultShardCount = 256;
/** The largest shard count: beyond it a worker would read more leases at a time than it could ever work on. */
export const largestShardCount = 65_536;
/** The longest key, in UTF-8 bytes. */
export const longestKeyBytes = 512;

/**
 * Half a surrogate pair has no UTF-8 form: encoders replace it, and different keys would become one. A NUL ends texts in
 * many stores, or cannot be stored at all.
 */
const notStorable = /[\0\p{Cs}]/u;

/**
 * The shard of a key: SHA-1 of its UTF-8 bytes, the first four of them read big-endian, modulo the shard count.
 *
 * The same in every process, release and language; `docs/sharding.md` lists vectors to check another implementation
 * with. The hash only spreads keys, it protects nothing. Pins are looked up before it, see `Pins.shardOf`.
 *
 * @param key 1 to 512 UTF-8 bytes of well-formed text without NUL.
 * @param shardCount A power of two from 1 to 65,536. Default 256.
 * @throws {OptionError} for any other key or shard count.
 */
export function shardOf(key: string, shardCount: number = defaultShardCount): number {
  validateShardCount(shardCount);
  validateKey(key);
  // Text costs about half of what a buffer does: 2 to 5 microseconds a key.
  const digest = createHash('sha1').update(key, 'utf8').digest('hex');
  return Number.parseInt(digest.slice(0, 8), 16) % shardCount;
}

/** @throws {OptionError} unless `shardCount` is a power of two from 1 to 65,536. */
export function validateShardCount(shardCount: number): number {
  const isPowerOfTwo = Number.isInteger(shardCount) && (shardCount & (shardCount - 1)) === 0;
  if (isPowerOfTwo && shardCount >= 1 && shardCount <= largestShardCount) return shardCount;
  throw new OptionError(
    'shardCount',
    shardCount,
    'is not a shard count',
    `use a power of two from 1 to ${largestShardCount}`,
  );
}

/** The one rule for keys. @throws {OptionError} unless `key` is 1 to 512 UTF-8 bytes of well-formed text without NUL. */
export function validateKey(key: string): string {
  const remedy = `use 1 to ${longestKeyBytes} bytes of UTF-8 text without NUL`;
  if (typeof key !== 'string') throw new OptionError('key', key, 'is not a text', remedy);
  if (key.length === 0) throw new OptionError('key', key, 'is empty', remedy);
  // A code unit is at most three bytes, so most keys need no counting.
  if (key.length * 3 > longestKeyBytes && Buffer.byteLength(key) > longestKeyBytes)
    throw new OptionError('key', key, 'is too long', remedy);
  if (notStorable.test(key))
    throw new OptionError('key', key, 'is not well-formed text or holds a NUL', remedy);
  return key;
}
