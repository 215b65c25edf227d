import { validateName } from '../coordinators/index.js';
import { type Known, requireKnown, requireMethods } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { Leases } from '../leases/index.js';
import { defaultShardCount, largestShardCount, validateShardCount } from './shard-of.js';
import { memberLeaseName, type ShardWork, shardLeaseName } from './work.js';

/** What a worker needs to know of a table of pins; `Pins` is one. */
export interface ShardPins {
  readonly group: string;
  readonly shardCount: number;
  /** Shards outside the hash range that pins name. */
  readonly extraShards: readonly number[];
  /** Reads the table again. */
  refresh(): Promise<unknown>;
}

/** All durations in milliseconds of monotonic time. */
export interface ShardWorkerOptions {
  /**
   * The leases of this process. Their id names the member, their timing is that of every shard. Used, not owned: close
   * them after the worker has stopped.
   */
  readonly leases: Leases;
  /** The name that the workers of one fleet share: a name of leases, see `validateName`. */
  readonly group: string;
  /** What runs on the shards. */
  readonly work: ShardWork;
  /** A power of two from 1 to 65,536, the same in every worker of the group. Default 256. */
  readonly shardCount?: number;
  /** The keys that live elsewhere than their hash says; shards that only pins name are owned like the others. */
  readonly pins?: ShardPins;
  /** The fleet is looked at this often even if nothing happens, give or take a fifth. Default half a renewal interval. */
  readonly sweepEveryMs?: number;
  /** A shard is kept for the successor this long, at most the ttl. Default the ttl, but not more than 5,000. */
  readonly reserveMs?: number;
  /** `stop` waits this long for work to end by itself before it aborts it. Default 30,000. */
  readonly drainTimeoutMs?: number;
  /** `stop` waits this long for aborted work. Shards of work that goes on are left to expire. Default 5,000. */
  readonly abortGraceMs?: number;
}

export type ResolvedShardWorkerOptions = Required<Omit<ShardWorkerOptions, 'pins'>> & {
  readonly pins: ShardPins | undefined;
};

const longestReserveMs = 5_000;

const optionKeys: Known<ShardWorkerOptions> = {
  ...{ leases: true, group: true, work: true, shardCount: true, pins: true },
  ...{ sweepEveryMs: true, reserveMs: true, drainTimeoutMs: true, abortGraceMs: true },
};

/** @throws {OptionError} for a wrong value, or pins of another group or shard count. */
export function resolveShardWorkerOptions(options: ShardWorkerOptions): ResolvedShardWorkerOptions {
  requireKnown('options', options, optionKeys, 'pass { leases, group, work }');
  validateParts(options);
  const { leases, group, work, pins } = options;
  const { ttlMs, renewEveryMs } = leases.timing;
  const shardCount = validateShardCount(options.shardCount ?? defaultShardCount);
  validateGroup(group, leases.holder.id);
  if (pins !== undefined && pins.shardCount !== shardCount) {
    throw new OptionError(
      'pins',
      `pins of ${pins.shardCount} shards`,
      'belong to another shard count',
      `load them with the shard count ${shardCount}`,
    );
  }
  if (pins !== undefined && pins.group !== group) {
    throw new OptionError(
      'pins',
      `pins of "${pins.group}"`,
      'belong to another group',
      `load them with the group "${group}"`,
    );
  }
  return {
    leases,
    group,
    work,
    shardCount,
    pins,
    sweepEveryMs: duration('sweepEveryMs', options.sweepEveryMs ?? renewEveryMs / 2, renewEveryMs),
    reserveMs: duration('reserveMs', options.reserveMs ?? Math.min(ttlMs, longestReserveMs), ttlMs),
    drainTimeoutMs: duration('drainTimeoutMs', options.drainTimeoutMs ?? 30_000),
    abortGraceMs: duration('abortGraceMs', options.abortGraceMs ?? 5_000),
  };
}

function validateParts({ leases, work, pins }: Partial<ShardWorkerOptions>): void {
  validatePart('leases', leases, ['acquireMany', 'handoffMany'], 'pass a Leases');
  validatePart('work', work, ['begin', 'drain', 'drop'], 'give it begin, drain and drop');
  if (pins !== undefined)
    validatePart('pins', pins, ['refresh'], 'pass what Pins.load() resolves to');
}

function validatePart(
  option: string,
  part: object | undefined,
  methods: readonly string[],
  remedy: string,
): void {
  requireMethods(option, part, methods, 'is not what is needed here', remedy);
}

/** Every name that will be made of the group has to be a name. */
function validateGroup(group: string, memberId: string): void {
  validateName(group, 'group');
  validateName(memberLeaseName(group, memberId), 'group');
  validateName(shardLeaseName(group, largestShardCount * 2), 'group');
}

function duration(option: string, value: number, largestMs = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && value > 0 && value <= largestMs) return value;
  const remedy =
    largestMs === Number.MAX_SAFE_INTEGER
      ? 'use a positive number of milliseconds'
      : `use more than 0 and at most ${Math.floor(largestMs)} milliseconds`;
  throw new OptionError(option, value, 'is not a duration in range', remedy);
}
