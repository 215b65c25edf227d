import type { Holder } from '../../coordinators/index.js';
import { OptionError } from '../../errors/index.js';
import type { FencingToken } from '../contract.js';
import type { Presented } from './headers.js';

/** By request object: the frameworks have several for one request, and a handler may have any of them. */
const admitted = new WeakMap<object, FencingToken>();

/**
 * The token under which a request was admitted: hand it to the fence of the transaction that writes, as in
 * `fence.transaction(fencingTokenOf(request), ...)`. `undefined` if the request passed without one: its method is not
 * fenced, or a token is not `required`.
 *
 * @param request the request of node:http, Express or Fastify, or the context of Hono.
 */
export function fencingTokenOf(request: object): FencingToken | undefined {
  return admitted.get(request);
}

export function rememberToken(token: FencingToken | undefined, ...requests: object[]): void {
  if (token === undefined) return;
  for (const request of requests) admitted.set(request, token);
}

export function tokenFrom(name: string, { term, holderDigest }: Presented): FencingToken {
  // A fence asks a holder for its digest alone; whatever wants more is refused by the getters below.
  const holder = new DistantHolder(holderDigest) as unknown as Holder;
  return Object.freeze({ name, term, holder });
}

/** The holder of a token that came over the wire. Its id and its nonce stayed where the lease is. */
class DistantHolder {
  readonly digest: string;

  constructor(digest: string) {
    this.digest = digest;
    Object.freeze(this);
  }

  get id(): never {
    throw notHere();
  }

  get wire(): never {
    throw notHere();
  }

  equals(other: Holder): boolean {
    return other.digest === this.digest;
  }

  toString(): string {
    return this.digest;
  }

  toJSON(): string {
    return this.digest;
  }
}

function notHere(): OptionError {
  return new OptionError(
    'token.holder',
    'hidden',
    'came with a request, which tells its digest alone',
    'use the token for a fence; a lease is renewed and released by the process that holds it',
  );
}
