import { createHash } from 'node:crypto';

/**
 * The channel on which everything about a namespace is told. Channels are the database's, so the schema is part of it;
 * and they are identifiers of at most 63 bytes, so it is a digest.
 */
export function channelOf(schema: string, namespace: string): string {
  const digest = createHash('sha256').update(`${schema}/${namespace}`).digest('hex');
  return `tenure_${digest.slice(0, 40)}`;
}

/** What a notification says: whose turn it is, and about which name. `undefined` if it is none of ours. */
export function parseNews(
  payload: string,
): { readonly name: string; readonly called: readonly string[] } | undefined {
  const bar = payload.indexOf('|');
  if (bar < 0) return undefined;
  const called = payload.slice(0, bar);
  return { name: payload.slice(bar + 1), called: called === '' ? [] : called.split(',') };
}
