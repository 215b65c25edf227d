import type { ScriptCall } from '../../drivers/redis/index.js';
import type { AcquireRequest, HandoffRequest, ReleaseRequest } from '../contract.js';
import { historyLifeMs } from '../history.js';
import { locate, type RedisKeys } from './keys.js';

/** Redis counts whole milliseconds; a lease must not end before its ttl. */
export const whole = Math.ceil;

export function acquireCall(keys: RedisKeys, requests: readonly AcquireRequest[]): ScriptCall {
  const { places, indexes, groups, numbers } = locate(keys, requests);
  const highestAbove = requests.reduce((highest, { above }) => Math.max(highest, above ?? 0), 0);
  return {
    keys: [
      keys.term,
      keys.suspended,
      ...places.map(({ lease }) => lease),
      ...places.map(({ history }) => history),
      ...indexes,
    ],
    args: [
      requests.length,
      highestAbove,
      ...groups.map((group) => keys.wake(group)),
      ...requests.flatMap((request, index) => [
        request.holder.wire,
        request.attempt,
        whole(request.ttlMs),
        request.above ?? 0,
        request.metadata ?? '',
        request.name,
        numbers[index] ?? 0,
        whole(request.graceMs ?? 0),
        request.keepHistory === true ? historyLifeMs : 0,
      ]),
    ],
  };
}

/** A release if there is no `to`, else a handoff. */
export function endCall(
  keys: RedisKeys,
  requests: readonly (ReleaseRequest | HandoffRequest)[],
): ScriptCall {
  const { places, indexes, groups, numbers } = locate(keys, requests);
  return {
    keys: [
      keys.suspended,
      ...places.map(({ lease }) => lease),
      ...places.map(({ history }) => history),
      ...places.map(({ queue }) => queue),
      ...places.map(({ candidates }) => candidates),
      ...indexes,
    ],
    args: [
      requests.length,
      keys.calls,
      ...groups.map((group) => keys.wake(group)),
      ...requests.flatMap((request, index) => [
        request.holder.wire,
        'term' in request ? request.term : '',
        'attempt' in request ? request.attempt : '',
        'to' in request ? request.to : '',
        'to' in request ? whole(request.reserveMs) : 0,
        'to' in request ? 'handed-off' : (request.reason ?? 'released'),
        request.name,
        numbers[index] ?? 0,
      ]),
    ],
  };
}
