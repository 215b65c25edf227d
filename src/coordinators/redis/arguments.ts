import type { ScriptCall } from '../../drivers/redis/index.js';
import type { AcquireRequest, HandoffRequest, ReleaseRequest, RenewRequest } from '../contract.js';
import type { Holder } from '../holder.js';
import { type Location, locate, type Place, type RedisKeys } from './keys.js';
import { leasePrefix } from './record.js';
import { indexTtls } from './scripts.js';

/** Redis counts whole milliseconds; a lease must not end before its ttl. */
const whole = Math.ceil;

export function acquireCall(keys: RedisKeys, requests: readonly AcquireRequest[]): ScriptCall {
  const { keys: located, numbers } = locate(keys, requests);
  const highestAbove = requests.reduce((highest, { above }) => Math.max(highest, above ?? 0), 0);
  return {
    keys: [keys.term, ...located],
    args: [
      requests.length,
      highestAbove,
      ...requests.flatMap((request, index) => [
        request.holder.wire,
        request.attempt,
        whole(request.ttlMs),
        request.above ?? 0,
        request.metadata ?? '',
        request.name,
        numbers[index] ?? 0,
      ]),
    ],
  };
}

export interface RenewCall extends ScriptCall {
  /** For each request the place of its name. */
  readonly places: readonly Place[];
  /** Which of them get their entry in the index refreshed along the way. */
  readonly refreshed: ReadonlySet<Place>;
}

/** `nowMs` (monotonic) tells which entries in the index are due for a refresh. */
export function renewCall(
  { places, keys, groups, numbers }: Location,
  requests: readonly RenewRequest[],
  nowMs: number,
): RenewCall {
  const refreshed = new Set<Place>();
  const runs = new PrefixRuns();
  const lives = groups.map(() => 0);
  const metadata: (string | number)[] = [];
  const refreshes: (string | number)[] = [];
  requests.forEach((request, index) => {
    const ttlMs = whole(request.ttlMs);
    const lifeMs = ttlMs * indexTtls;
    const group = numbers[index] ?? 0;
    runs.add(request, ttlMs);
    lives[group - 1] = Math.max(lives[group - 1] ?? 0, lifeMs);
    if (request.metadata !== undefined) metadata.push(index + 1, request.metadata);
    const place = places[index];
    if (place !== undefined && place.indexFreshUntilMs <= nowMs) {
      refreshed.add(place);
      refreshes.push(index + 1, request.name, group, lifeMs);
    }
  });
  return {
    places,
    refreshed,
    keys,
    args: [
      requests.length,
      ...runs.args(),
      ...lives,
      metadata.length / 2,
      ...metadata,
      ...refreshes,
    ],
  };
}

/**
 * Neighbours whose texts begin alike. What one request granted has one term, so the leases of a worker make few runs, and
 * what costs most in a renewal, to write and to parse, is sent once for each.
 */
class PrefixRuns {
  readonly #runs: { count: number; readonly prefix: string; readonly ttlMs: number }[] = [];
  #last: { readonly holder: Holder; readonly term: number; readonly ttlMs: number } | undefined;

  add({ holder, term }: RenewRequest, ttlMs: number): void {
    const last = this.#last;
    const run = this.#runs.at(-1);
    if (run && last?.term === term && last.holder === holder && last.ttlMs === ttlMs) {
      run.count += 1;
      return;
    }
    this.#runs.push({ count: 1, prefix: leasePrefix(term, holder.wire, ttlMs), ttlMs });
    this.#last = { holder, term, ttlMs };
  }

  args(): (string | number)[] {
    return [
      this.#runs.length,
      ...this.#runs.flatMap(({ count, prefix, ttlMs }) => [count, prefix, ttlMs]),
    ];
  }
}

/** A release if there is no `to`, else a handoff. */
export function endCall(
  keys: RedisKeys,
  requests: readonly (ReleaseRequest | HandoffRequest)[],
): ScriptCall {
  const { keys: located, groups, numbers } = locate(keys, requests);
  return {
    keys: located,
    args: [
      requests.length,
      ...groups.map((group) => keys.wake(group)),
      ...requests.flatMap((request, index) => [
        request.holder.wire,
        'term' in request ? request.term : '',
        'attempt' in request ? request.attempt : '',
        'to' in request ? request.to : '',
        'to' in request ? whole(request.reserveMs) : 0,
        request.name,
        numbers[index] ?? 0,
      ]),
    ],
  };
}
