import type { ScriptCall } from '../../drivers/redis/index.js';
import type { RenewRequest } from '../contract.js';
import type { Holder } from '../holder.js';
import { whole } from './arguments.js';
import { type Location, locate, type Place, type RedisKeys } from './keys.js';
import { indexTtls } from './limits.js';
import { leasePrefix } from './record.js';

interface RenewalLocation extends Location {
  /** Of the leases, and then of the indexes. */
  readonly keys: readonly string[];
}

/** Remembers the last answer: a holder renews the same names in the same order all day. */
export class RenewalLocator {
  readonly #keys: RedisKeys;
  #names: readonly string[] = [];
  #location: RenewalLocation = { places: [], indexes: [], groups: [], numbers: [], keys: [] };

  constructor(keys: RedisKeys) {
    this.#keys = keys;
  }

  locate(named: readonly { readonly name: string }[]): RenewalLocation {
    const isSame =
      named.length === this.#names.length &&
      named.every(({ name }, index) => name === this.#names[index]);
    if (isSame) return this.#location;
    this.#names = named.map(({ name }) => name);
    const location = locate(this.#keys, named);
    const keys = [...location.places.map(({ lease }) => lease), ...location.indexes];
    this.#location = { ...location, keys };
    return this.#location;
  }
}

export interface RenewCall extends ScriptCall {
  /** For each request the place of its name. */
  readonly places: readonly Place[];
  /** Which of them get their entry in the index refreshed along the way. */
  readonly refreshed: ReadonlySet<Place>;
}

/** `nowMs` (monotonic) tells which entries in the index are due for a refresh. */
export function renewCall(
  { places, indexes, keys, groups, numbers }: RenewalLocation,
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
  const histories = [...refreshed].map(({ history }) => history);
  return {
    places,
    refreshed,
    keys: histories.length === 0 ? keys : [...keys, ...histories],
    args: [
      requests.length,
      indexes.length,
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
