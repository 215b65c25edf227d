import { type Known, requireFunction, requireKnown, requireMethods } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import type { Fence } from '../../fences/index.js';
import type { Leases } from '../../leases/index.js';
import type { ShardWorkerOptions } from '../../shards/index.js';
import type { BackoffOptions } from '../../time/index.js';
import type { Topic } from '../topic.js';
import type { MessageHandler } from './message.js';

/** All durations in milliseconds of monotonic time. */
export interface StreamWorkerOptions<Payload = unknown>
  extends Pick<
    ShardWorkerOptions,
    'sweepEveryMs' | 'reserveMs' | 'drainTimeoutMs' | 'abortGraceMs'
  > {
  /** What is handled: its store, its shard count and its pins. Used, not owned. */
  readonly topic: Topic;
  /** The leases of this process. Used, not owned: close them after the worker has stopped. */
  readonly leases: Leases;
  /** The name that the workers of one fleet share; the shards are leases below it. */
  readonly group: string;
  readonly handler: MessageHandler<Payload>;
  /**
   * The fence of the resource that the handler writes to. Each shard's term is claimed there before its first message
   * is read. Without one an owner that was frozen may write after its successor.
   */
  readonly fence?: Pick<Fence<never>, 'claim'>;
  /** So many messages of a shard are read ahead at most. 1 to 500; default 32. */
  readonly prefetchCount?: number;
  /**
   * So many messages wait in memory at most, over all shards, besides one for each shard. 1 and above; default 8,192.
   * Each may be as large as the topic's largest payload.
   */
  readonly maxBufferedCount?: number;
  /** The pauses before a failed message is tried again. Default from 100, doubling to 30,000, with jitter. */
  readonly retry?: BackoffOptions;
  /** Idle shards are read about this often even if the store's bell does not ring. 100 and above; default 5,000. */
  readonly idleReadEveryMs?: number;
  /** A shard with a message at its head that finishes none for this long raises `shardStalled`. Default 60,000. */
  readonly stalledAfterMs?: number;
  /** A handler that still runs this long after its lease ended is reported and left behind. Default 5,000. */
  readonly abandonedAfterMs?: number;
  /** One request to the stream store may take this long. Default the leases' `attemptTimeoutMs`. */
  readonly callTimeoutMs?: number;
}

export interface ResolvedPumpOptions {
  readonly prefetchCount: number;
  readonly maxBufferedCount: number;
  readonly retry: BackoffOptions;
  readonly idleReadEveryMs: number;
  readonly stalledAfterMs: number;
  readonly abandonedAfterMs: number;
  readonly callTimeoutMs: number;
}

/**
 * Twice as many acknowledgements as there are messages read ahead can gather behind a request that failed, and a store
 * takes a thousand in one.
 */
const largestPrefetchCount = 500;

/** @throws {OptionError} for a topic, leases, fence or handler that is none, or a number out of its range. */
export function resolvePumpOptions<Payload>(
  options: StreamWorkerOptions<Payload>,
): ResolvedPumpOptions {
  requireCollaborators(options);
  requireFunction('handler', options.handler, 'pass the function that handles one message');
  const { retry = { firstMs: 100, limitMs: 30_000 } } = options;
  requireKnown('retry', retry, { firstMs: true, limitMs: true });
  duration('retry.firstMs', retry.firstMs, 1);
  duration('retry.limitMs', retry.limitMs, retry.firstMs);
  return {
    prefetchCount: count('prefetchCount', options.prefetchCount ?? 32, largestPrefetchCount),
    maxBufferedCount: count('maxBufferedCount', options.maxBufferedCount ?? 8_192),
    retry,
    idleReadEveryMs: duration('idleReadEveryMs', options.idleReadEveryMs ?? 5_000, 100),
    stalledAfterMs: duration('stalledAfterMs', options.stalledAfterMs ?? 60_000, 1),
    abandonedAfterMs: duration('abandonedAfterMs', options.abandonedAfterMs ?? 5_000, 1),
    callTimeoutMs: duration(
      'callTimeoutMs',
      options.callTimeoutMs ?? options.leases.timing.attemptTimeoutMs,
      1,
    ),
  };
}

const workerKeys: Known<StreamWorkerOptions> = {
  topic: true,
  leases: true,
  group: true,
  handler: true,
  fence: true,
  prefetchCount: true,
  maxBufferedCount: true,
  retry: true,
  idleReadEveryMs: true,
  stalledAfterMs: true,
  abandonedAfterMs: true,
  callTimeoutMs: true,
  sweepEveryMs: true,
  reserveMs: true,
  drainTimeoutMs: true,
  abortGraceMs: true,
};

function requireCollaborators<Payload>(options: StreamWorkerOptions<Payload>): void {
  requireKnown('options', options, workerKeys, 'pass { topic, leases, group, handler }');
  const { topic, leases, fence } = options;
  requireMethods('topic', topic, ['publish', 'agree'], 'is not a topic', 'pass a Topic');
  const ofLeases = ['acquireMany', 'handoffMany'];
  requireMethods('leases', leases, ofLeases, 'are none', 'pass a Leases');
  if (fence === undefined) return;
  const remedy = 'pass what postgresFence or memoryFence returns, or leave it out';
  requireMethods('fence', fence, ['claim'], 'is not a fence', remedy);
}

function count(option: string, value: number, largest = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= 1 && value <= largest) return value;
  const remedy =
    largest === Number.MAX_SAFE_INTEGER
      ? 'use a whole number of 1 and above'
      : `use 1 to ${largest}`;
  throw new OptionError(option, value, 'is out of range', remedy);
}

function duration(option: string, value: number, smallestMs: number): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= smallestMs) return value;
  const remedy = `use ${smallestMs} milliseconds and above`;
  throw new OptionError(option, value, 'is out of range', remedy);
}
