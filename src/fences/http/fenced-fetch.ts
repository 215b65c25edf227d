import { isCredibleTerm } from '../../coordinators/index.js';
import { requireMethods } from '../../errors/checks.js';
import { OptionError, StaleTermError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import { realRuntime } from '../../time/index.js';
import type { FencingToken } from '../contract.js';
import { headersOf } from './headers.js';
import { followedBy, JoinedSignal } from './joined-signal.js';
import { installedTermOf } from './stale-answer.js';
import { failureOf } from './transport.js';

/** What a fenced request needs of a lease. */
export type RequestLease = FencingToken & Pick<Lease, 'assertHeld' | 'signal'>;

export interface FencedRequestInit extends RequestInit {
  /**
   * Sent as `Idempotency-Key`, for services that recognise a repetition by it: 1 to 255 printable ASCII characters without
   * spaces. Give one effect one key, whoever repeats it: not the term, which a successor does not share.
   */
  readonly idempotencyKey?: string;
}

/** As `fetch`, with the headers of a lease. */
export type FencedFetch = (
  input: string | URL | Request,
  init?: FencedRequestInit,
) => Promise<Response>;

/**
 * A `fetch` that sends every request under a lease: with its term, the digest of its holder and its name.
 *
 * The request is aborted when the lease ends, also while its body is read. Redirects are not followed: a 3xx is
 * returned, so that the headers reach nobody but the service you named (with `redirect: 'error'` it is an
 * `OutcomeUnknownError`).
 *
 * @param lease asked before each request; a refusal by the service's fence ends it as `superseded`. The term that the service
 * names is kept as its `installedTerm` only if some store can have granted it.
 * @param fetch what sends the requests; it is called with a `Request` and its signal. Default the global one.
 * @returns a function that rejects with
 * {@link LeaseNotHeldError}, with nothing sent, unless the lease is held;
 * {@link StaleTermError} if the service's fence refused the term; nothing was done;
 * {@link UnreachableError} if no connection was made; nothing was done;
 * {@link OutcomeUnknownError} if the connection failed after that, or the lease ended before the answer came;
 * the reason of your own `signal` if that aborts, when the outcome is as unknown;
 * {@link OptionError} for an `idempotencyKey` that is none, and `TypeError` for what `fetch` does not take.
 */
export function fencedFetch(
  lease: RequestLease,
  fetch: (request: Request, init: RequestInit) => Promise<Response> = globalThis.fetch,
): FencedFetch {
  requireMethods('lease', lease, ['assertHeld'], 'is not a lease', 'pass the lease itself');
  if (typeof fetch !== 'function') {
    const remedy = 'pass a function like fetch, or leave it out';
    throw new OptionError('fetch', fetch, 'is not a function', remedy);
  }
  return async (input, init = {}) => {
    const request = requestUnder(lease, input, init);
    const own = init.signal ?? (input instanceof Request ? input.signal : undefined);
    own?.throwIfAborted();
    // Before the check, so that a lease that is held has a signal that has not aborted.
    const { signal } = lease;
    lease.assertHeld();
    const joined = new JoinedSignal([signal, own]);
    let response: Response;
    let installedTerm: number | undefined;
    try {
      response = await fetch(request, { signal: joined.signal });
      installedTerm = await installedTermOf(response, lease);
    } catch (error) {
      joined.leave();
      // The caller's own decision comes back to it as it was made.
      if (own?.aborted === true && joined.signal.reason === own.reason) throw own.reason;
      throw failureOf(error, lease.name);
    }
    if (installedTerm === undefined) return followedBy(response, joined);
    joined.leave();
    // A service is not trusted as a store is: who acquires `above` its word must not go above any number.
    lease.supersede?.(isCredibleTerm(installedTerm, realRuntime.now()) ? installedTerm : undefined);
    throw new StaleTermError(lease.name, lease.term, installedTerm);
  };
}

function requestUnder(
  lease: RequestLease,
  input: string | URL | Request,
  { idempotencyKey, signal: _followedInstead, ...init }: FencedRequestInit,
): Request {
  const redirect = init.redirect === 'error' ? 'error' : 'manual';
  const request = new Request(input, { ...init, redirect });
  for (const [name, value] of headersOf(lease)) request.headers.set(name, value);
  if (idempotencyKey !== undefined)
    request.headers.set('Idempotency-Key', requireIdempotencyKey(idempotencyKey));
  return request;
}

function requireIdempotencyKey(key: string): string {
  if (typeof key === 'string' && /^[!-~]{1,255}$/.test(key)) return key;
  const remedy = 'use 1 to 255 printable ASCII characters without spaces';
  throw new OptionError('idempotencyKey', key, 'is not an idempotency key', remedy);
}
