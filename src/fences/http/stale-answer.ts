import { isTerm } from '../../coordinators/index.js';
import type { FencingToken } from '../contract.js';
import { problemMediaType, staleTermType } from './problems.js';

/** A problem document of ours is a few hundred bytes; what is longer is something else. */
const longestProblemBytes = 16 * 1024;

/**
 * The term that stood in the way of `token`, if the response is the refusal of a fence; `undefined` for any other, whose
 * body is left unread.
 */
export async function installedTermOf(
  response: Response,
  token: FencingToken,
): Promise<number | undefined> {
  if (response.status !== 409 || mediaTypeOf(response) !== problemMediaType) return undefined;
  // The other half stays readable for the caller.
  const text = await textOf(response.clone());
  const document = text === undefined ? undefined : parse(text);
  if (document?.type !== staleTermType) return undefined;
  const { term, installedTerm } = document;
  // An answer about another term, from a cache or a proxy's retry, says nothing about this one.
  if (term !== token.term || !isTerm(installedTerm) || installedTerm < token.term) return undefined;
  await response.body?.cancel();
  return installedTerm;
}

function mediaTypeOf(response: Response): string | undefined {
  return response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
}

async function textOf({ body }: Response): Promise<string | undefined> {
  if (body === null) return undefined;
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  for (let left = longestProblemBytes; left >= 0; ) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString();
    chunks.push(value);
    left -= value.byteLength;
  }
  // Not awaited: one half of a clone is cancelled only when the other one is, too.
  reader.cancel().catch(() => {});
  return undefined;
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
