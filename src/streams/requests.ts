import { checkTimeout, Holder, validateName, validateTerm } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';
import type { FencingToken } from '../fences/index.js';
import { validateKey } from '../shards/index.js';
import type { InstallRequest, PublishRequest, StepRequest } from './contract.js';

/*
 * What every stream store refuses before it sends anything. Each function returns a copy, so that a caller who changes
 * its objects while the request is on its way changes nothing. All throw `OptionError`, for the whole batch.
 */

/** The longest id of a message, in UTF-8 bytes. */
export const longestMessageIdBytes = 255;
/** The largest payload unless the store is told otherwise, in UTF-8 bytes. */
export const defaultLargestPayloadBytes = 256 * 1024;
/** The most messages one step reads, and the most it acknowledges, in one shard. */
export const largestStepCount = 1_000;

/** NUL divides the parts of a stored message; a lone surrogate would be stored as something else. */
const notStorable = /[\0\p{Cs}]/u;

export { checkTimeout };

export function checkPublishes(
  requests: readonly PublishRequest[],
  largestPayloadBytes: number,
): PublishRequest[] {
  return requests.map((request) => {
    checkShard(request.shard);
    checkKey(request.key);
    checkText(request.id, 'id', longestMessageIdBytes);
    checkPayload(request.payload, largestPayloadBytes);
    if (request.seq !== undefined) checkSeq(request.seq, 'seq', 1);
    return { ...request };
  });
}

export function checkInstalls(requests: readonly InstallRequest[]): InstallRequest[] {
  return checkBatch(requests, ({ token }) => {
    validateName(token.name, 'token.name');
    checkOwner(token);
  });
}

export function checkSteps(
  requests: readonly StepRequest[],
  isPosition: (text: string) => boolean,
): StepRequest[] {
  return checkBatch(requests, ({ token, acknowledge, after, limit }) => {
    // Not the whole token, of every shard, at every step: its name was checked when it was installed.
    checkOwner(token);
    for (const position of acknowledge) checkPosition(position, 'acknowledge', isPosition);
    if (after !== undefined) checkPosition(after, 'after', isPosition);
    checkCount(acknowledge.length, 'acknowledge');
    checkCount(limit, 'limit');
  });
}

export function checkShards(shards: readonly number[]): number[] {
  return checkBatch(
    shards.map((shard) => ({ shard })),
    () => {},
  ).map(({ shard }) => shard);
}

export function checkShard(shard: number): number {
  if (Number.isSafeInteger(shard) && shard >= 0) return shard;
  throw new OptionError('shard', shard, 'is not a shard', 'use an integer from 0');
}

export const checkKey = validateKey;

/** Any count from 1: which ones a topic takes is its own affair. */
export function checkShardCount(shardCount: number): number {
  if (Number.isSafeInteger(shardCount) && shardCount >= 1) return shardCount;
  throw new OptionError('shardCount', shardCount, 'is no count', 'use an integer from 1');
}

export function checkVersion(version: number): number {
  if (Number.isSafeInteger(version) && version >= 0) return version;
  const remedy = 'pass the version of the table of pins, 0 without one';
  throw new OptionError('version', version, 'is no version', remedy);
}

export function checkSeq(seq: number, option: string, smallest: number): number {
  if (Number.isSafeInteger(seq) && seq >= smallest) return seq;
  throw new OptionError(
    option,
    seq,
    'is not a sequence number',
    `use a safe integer from ${smallest}`,
  );
}

function checkOwner({ term, holder }: FencingToken): void {
  validateTerm(term, 'token.term');
  if (holder instanceof Holder) return;
  // The value may be a nonce that was passed by mistake, so it is not shown.
  throw new OptionError('token.holder', 'hidden', 'is not a Holder', 'pass the lease itself');
}

function checkText(text: string, option: string, longestBytes: number): string {
  const isText = typeof text === 'string' && text !== '' && !notStorable.test(text);
  if (isText && Buffer.byteLength(text) <= longestBytes) return text;
  throw new OptionError(
    option,
    text,
    'is empty, too long or no text',
    `use 1 to ${longestBytes} bytes of UTF-8 text without NUL`,
  );
}

function checkPayload(payload: string, largestBytes: number): void {
  const remedy = `use JSON text of at most ${largestBytes} bytes, and keep larger things elsewhere`;
  if (typeof payload !== 'string' || Buffer.byteLength(payload) > largestBytes) {
    throw new OptionError('payload', 'hidden', 'is no text or too long', remedy);
  }
  try {
    JSON.parse(payload);
  } catch {
    throw new OptionError('payload', 'hidden', 'is not JSON', remedy);
  }
  if (notStorable.test(payload)) {
    throw new OptionError('payload', 'hidden', 'holds a lone surrogate', remedy);
  }
}

function checkPosition(position: string, option: string, isPosition: (text: string) => boolean) {
  if (typeof position === 'string' && isPosition(position)) return;
  throw new OptionError(option, position, 'is not a position', 'pass one that a step returned');
}

function checkCount(count: number, option: string): void {
  if (Number.isInteger(count) && count >= 0 && count <= largestStepCount) return;
  throw new OptionError(option, count, 'is out of range', `use at most ${largestStepCount}`);
}

/** Two requests for one shard have no order inside a batch, so their answers would mean nothing. */
function checkBatch<Request extends { readonly shard: number }>(
  requests: readonly Request[],
  check: (request: Request) => void,
): Request[] {
  const shards = new Set<number>();
  return requests.map((request) => {
    checkShard(request.shard);
    if (shards.has(request.shard)) {
      throw new OptionError(
        'shard',
        request.shard,
        'stands twice in one batch',
        'send at most one request per shard in one call',
      );
    }
    shards.add(request.shard);
    check(request);
    return { ...request };
  });
}

/** @throws {OptionError} unless `durationMs` is a whole number of milliseconds, from 1 to a year. */
export function checkDedupeWindow(durationMs: number): number {
  const longestMs = 366 * 24 * 60 * 60 * 1000;
  if (Number.isInteger(durationMs) && durationMs >= 1 && durationMs <= longestMs) return durationMs;
  throw new OptionError(
    'dedupeWindowMs',
    durationMs,
    'is out of range',
    `use 1 to ${longestMs} milliseconds`,
  );
}

/** @throws {OptionError} unless `bytes` is from 1 to 16 MiB. */
export function checkLargestPayload(bytes: number): number {
  const largest = 16 * 1024 * 1024;
  if (Number.isInteger(bytes) && bytes >= 1 && bytes <= largest) return bytes;
  throw new OptionError(
    'largestPayloadBytes',
    bytes,
    'is out of range',
    `use 1 to ${largest} bytes`,
  );
}
