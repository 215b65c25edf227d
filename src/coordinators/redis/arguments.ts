import type { ScriptCall } from '../../drivers/redis/index.js';
import type { AcquireRequest, HandoffRequest, ReleaseRequest, RenewRequest } from '../contract.js';
import type { Holder } from '../holder.js';
import { groupNames, type RedisKeys } from './keys.js';
import { leasePrefix } from './record.js';
import { indexTtls } from './scripts.js';

/** Redis counts whole milliseconds; a lease must not end before its ttl. */
const whole = Math.ceil;

export function acquireCall(keys: RedisKeys, requests: readonly AcquireRequest[]): ScriptCall {
  const { groups, numbers } = groupNames(requests.map(({ name }) => name));
  const highestAbove = requests.reduce((highest, { above }) => Math.max(highest, above ?? 0), 0);
  return {
    keys: [keys.term, ...leasesAndIndexes(keys, requests, groups)],
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

/** `stale` are the names whose entry in the index is due for a refresh. */
export function renewCall(
  keys: RedisKeys,
  requests: readonly RenewRequest[],
  stale: ReadonlySet<string>,
): ScriptCall {
  const { groups, numbers } = groupNames(requests.map(({ name }) => name));
  const ttls = requests.map(({ ttlMs }) => whole(ttlMs));
  const isOneTtl = ttls.every((ttlMs) => ttlMs === ttls[0]);
  const prefixes: string[] = [];
  const lives = groups.map(() => 0);
  const metadata: (string | number)[] = [];
  const refreshes: (string | number)[] = [];
  // Mostly one holder renews all it has.
  let holder: Holder | undefined;
  let wire = '';
  for (const [index, request] of requests.entries()) {
    const ttlMs = ttls[index] ?? 0;
    const group = numbers[index] ?? 0;
    if (request.holder !== holder) {
      holder = request.holder;
      wire = holder.wire;
    }
    prefixes.push(leasePrefix(request.term, wire, ttlMs));
    lives[group - 1] = Math.max(lives[group - 1] ?? 0, ttlMs * indexTtls);
    if (request.metadata !== undefined) metadata.push(index + 1, request.metadata);
    if (stale.has(request.name)) refreshes.push(index + 1, request.name, group);
  }
  return {
    keys: leasesAndIndexes(keys, requests, groups),
    args: [
      requests.length,
      isOneTtl ? 1 : ttls.length,
      ...(isOneTtl ? ttls.slice(0, 1) : ttls),
      ...prefixes,
      ...lives,
      metadata.length / 2,
      ...metadata,
      ...refreshes,
    ],
  };
}

/** A release if there is no `to`, else a handoff. */
export function endCall(
  keys: RedisKeys,
  requests: readonly (ReleaseRequest | HandoffRequest)[],
): ScriptCall {
  const { groups, numbers } = groupNames(requests.map(({ name }) => name));
  return {
    keys: leasesAndIndexes(keys, requests, groups),
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

function leasesAndIndexes(
  keys: RedisKeys,
  requests: readonly { readonly name: string }[],
  groups: readonly string[],
): string[] {
  return [
    ...requests.map(({ name }) => keys.lease(name)),
    ...groups.map((group) => keys.group(group)),
  ];
}
