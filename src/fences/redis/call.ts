import type { RedisKeys } from '../../coordinators/redis/index.js';
import type { ScriptCall } from '../../drivers/redis/index.js';
import { OptionError } from '../../errors/index.js';
import type { FencingToken } from '../contract.js';
import type { Candidate } from '../rule.js';
import type { RedisBatch } from './batch.js';
import { writeCommands } from './commands.js';
import type { SingleCommand } from './gathering.js';
import type { FenceKeys } from './keys.js';

export interface BatchCall {
  readonly candidate: Candidate;
  /** `undefined`: nothing is to be written, the term is installed alone. */
  readonly batch: RedisBatch | undefined;
  /** A fence that has seen the name installed does not take its absence for a beginning. */
  readonly mustBeInstalled: boolean;
  readonly effectLifeMs: number | undefined;
  /** The keys of the leases; `undefined`: they are elsewhere. */
  readonly leases: RedisKeys | undefined;
}

/** A batch as keys and arguments of its script; what stands where is said above that. */
export function batchCall(keys: FenceKeys, call: BatchCall): ScriptCall {
  const { candidate, batch, mustBeInstalled, effectLifeMs, leases } = call;
  const { name, term, holderDigest } = candidate;
  const effects = batch?.recorded ?? [];
  const all = [
    keys.term(name),
    ...(leases === undefined ? [] : [leases.place(name).lease]),
    ...effects.map((effect) => keys.effect(effect)),
  ];
  const commands = batch?.entries ?? [];
  const numbers = new Map<string, number>();
  const types: (string | number)[] = [];
  for (const { name: command, keys: touched } of commands) {
    for (const key of touched) {
      // What an earlier command of the batch leaves under it, nobody knows yet.
      if (numbers.has(key)) continue;
      numbers.set(key, all.push(key));
      const type = writeCommands[command][0];
      // One command alone says by itself that it was refused.
      if (type !== 'any' && commands.length > 1) types.push(all.length, type);
    }
  }
  const owner = leases === undefined ? '' : `${term}|${wireOf(candidate)}`;
  return {
    keys: all,
    args: [
      ...[term, holderDigest, mustBeInstalled ? '1' : '', owner, effectLifeMs ?? ''],
      ...[effects.length, ...effects.map(({ id }) => id)],
      ...[types.length / 2, ...types],
      ...commands.flatMap(({ name: command, args }) => [args.length + 1, command, ...args]),
    ],
  };
}

/** What stands under a fence's key while this token is installed. */
export function installedText({ term, holderDigest }: Candidate): string {
  return `1|${term}|${holderDigest}`;
}

/** The command of a batch that holds no more than that; `undefined`: it does, or nothing. */
export function singleOf(batch: RedisBatch): SingleCommand | undefined {
  const { entries, recorded } = batch;
  return entries.length === 1 && recorded.length === 0 ? entries[0] : undefined;
}

/** The lease names its holder whole, and no script can make the digest of it. */
function wireOf({ token }: Candidate): string {
  const wire = wireIn(token);
  if (typeof wire === 'string' && wire !== '') return wire;
  throw new OptionError(
    'token.holder',
    'hidden',
    'tells its digest alone, as of a token that came with a request; a Redis fence with `leases` looks for the whole holder in the lease',
    'pass the lease itself, or make the fence for such tokens without `leases`',
  );
}

function wireIn({ holder }: FencingToken): unknown {
  try {
    return holder.wire;
  } catch {
    // The holder of such a token refuses to be asked for it.
    return undefined;
  }
}
