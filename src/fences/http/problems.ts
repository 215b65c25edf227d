import type { StaleTermError } from '../../errors/index.js';

/** What the fence of an HTTP service answers with, as the `type` of a problem document (RFC 9457) ends. */
export type FencingProblemKind =
  | 'stale-term'
  | 'token-required'
  | 'malformed-header'
  | 'resource-not-accepted'
  | 'term-too-high'
  | 'store-unavailable';

/** A problem document: the body of every answer that is not the service's own. */
export interface FencingProblem {
  /** `urn:tenure:fencing:` and the kind. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The fenced name, once it is known. */
  readonly resource?: string;
  /** The term of the request, once it is known. */
  readonly term?: number;
  /** The highest term seen, of `stale-term`. Equal to `term` if another holder has that same number. */
  readonly installedTerm?: number;
}

const typePrefix = 'urn:tenure:fencing:';

export const staleTermType = typeOf('stale-term');

export const problemMediaType = 'application/problem+json';

const outlines: Record<FencingProblemKind, { readonly status: number; readonly title: string }> = {
  'stale-term': { status: 409, title: 'A newer owner has been here' },
  'token-required': { status: 428, title: 'This request needs a fencing token' },
  'malformed-header': { status: 400, title: 'A fencing header is malformed' },
  'resource-not-accepted': { status: 400, title: 'This is not the resource of the request' },
  'term-too-high': { status: 400, title: 'No store grants such a term yet' },
  'store-unavailable': { status: 503, title: 'The fence cannot be asked' },
};

export function typeOf(kind: FencingProblemKind): string {
  return typePrefix + kind;
}

type Particulars = Pick<FencingProblem, 'resource' | 'term' | 'installedTerm'>;

export function problem(
  kind: FencingProblemKind,
  detail: string,
  particulars: Particulars = {},
): FencingProblem {
  const { status, title } = outlines[kind];
  return { type: typeOf(kind), title, status, detail, ...particulars };
}

/**
 * The problem document of a refused term, for a service whose transaction was refused after the request was admitted:
 * send it with status 409 and the media type `application/problem+json`, and {@link fencedFetch} makes the error of it
 * again.
 */
export function problemOf({ resource, term, installedTerm }: StaleTermError): FencingProblem {
  const why =
    installedTerm === term
      ? `Another holder has term ${term} as well.`
      : `Term ${term} is over: ${installedTerm} is installed.`;
  const detail = `${why} Nothing was done; stop, and acquire the lease again.`;
  return problem('stale-term', detail, { resource, term, installedTerm });
}
