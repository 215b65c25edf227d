import { isCredibleTerm } from '../../coordinators/index.js';
import {
  nearest,
  requireAwaited,
  requireFunction,
  requireMethods,
  requireObject,
} from '../../errors/checks.js';
import { OptionError, preview, StaleTermError } from '../../errors/index.js';
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
 * {@link OptionError}, with nothing sent, for an `idempotencyKey` that is none, for an option that looks like a misspelt one, and
 * for what `fetch` does not send: a URL that is not http: or https:, a body that was read before, a header it keeps to itself.
 */
export function fencedFetch(
  lease: RequestLease,
  fetch: (request: Request, init: RequestInit) => Promise<Response> = globalThis.fetch,
): FencedFetch {
  requireAwaited('lease', lease);
  requireMethods('lease', lease, ['assertHeld'], 'is not a lease', 'pass the lease itself');
  requireFunction('fetch', fetch, 'pass a function like fetch, or leave it out');
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
      throw failureOf(error, lease.name, request.url);
    }
    if (installedTerm === undefined) return followedBy(response, joined);
    joined.leave();
    // A service is not trusted as a store is: who acquires `above` its word must not go above any number.
    const isCredible = isCredibleTerm(installedTerm, realRuntime.now());
    lease.supersede?.(isCredible ? installedTerm : undefined, undefined, 'http');
    throw new StaleTermError(lease.name, lease.term, installedTerm);
  };
}

function requestUnder(
  lease: RequestLease,
  input: string | URL | Request,
  options: FencedRequestInit,
): Request {
  for (const name of Object.keys(requireObject('init', options))) requireNotMisspelt(name);
  const { idempotencyKey, signal: _followedInstead, ...init } = options;
  requireDispatcher(init);
  const redirect = init.redirect === 'error' ? 'error' : 'manual';
  const request = requestOf(input, { ...init, redirect });
  for (const [name, value] of headersOf(lease)) request.headers.set(name, value);
  if (idempotencyKey !== undefined)
    request.headers.set('Idempotency-Key', requireIdempotencyKey(idempotencyKey));
  return request;
}

function requestOf(input: string | URL | Request, init: RequestInit): Request {
  let request: Request;
  try {
    request = new Request(input, init);
  } catch (error) {
    const remedy = 'pass an absolute URL, and what fetch takes with it';
    throw new OptionError('request', 'hidden', faultOf((error as Error).message), remedy);
  }
  const { protocol } = new URL(request.url);
  if (protocol === 'http:' || protocol === 'https:') return request;
  const problem = `has a URL that begins with ${preview(protocol)}`;
  throw new OptionError('request', 'hidden', problem, 'use one of http: or https:');
}

/** It is asked when the request has been made, and whatever it throws then would leave the outcome unknown. */
function requireDispatcher(init: RequestInit): void {
  const dispatcher: unknown = Reflect.get(init, 'dispatcher');
  if (dispatcher === undefined || dispatcher === null) return;
  const remedy = 'pass an Agent of undici, or leave it out';
  requireMethods('init.dispatcher', dispatcher, ['dispatch'], 'is not a dispatcher', remedy);
}

/** What it says quotes a URL, which may hold a password, or a header, which may hold a token. */
function faultOf(message: string): string {
  if (message.includes('URL')) return 'has a URL that is not absolute, or has a password in it';
  if (/header/i.test(message)) return 'has a header that HTTP does not allow';
  return `cannot be made: ${message}`;
}

/** What `fetch` of Node takes. Others take more, which goes through unless it is nearly one of these. */
const initNames = [
  ...['method', 'headers', 'body', 'signal', 'redirect', 'duplex', 'dispatcher', 'idempotencyKey'],
  ...['mode', 'credentials', 'cache', 'referrer', 'referrerPolicy', 'integrity', 'keepalive'],
  ...['priority', 'window'],
];

/** A charge without its key, or a GET in place of a POST, is worse than an error. */
function requireNotMisspelt(name: string): void {
  const meant = initNames.includes(name) ? undefined : nearest(name, initNames);
  if (meant !== undefined)
    throw new OptionError(`init.${name}`, name, 'is no option', `did you mean ${meant}?`);
}

function requireIdempotencyKey(key: string): string {
  if (typeof key === 'string' && /^[!-~]{1,255}$/.test(key)) return key;
  const remedy = 'use 1 to 255 printable ASCII characters without spaces';
  throw new OptionError('idempotencyKey', key, 'is not an idempotency key', remedy);
}
