import { type Act, longestByBytes, longestReasonBytes } from '../acts.js';

/*
 * Who acted and why, as one field of a text: a JSON list of both, in which a bar is written as an escape, so that no field
 * but the last of any text of ours holds one.
 */

export function encodeWords({ by, reason }: Act): string {
  return JSON.stringify([by, reason]).replaceAll('|', '\\u007c');
}

/** `undefined` if the text is none of ours. */
export function parseWords(text: string): Act | undefined {
  // An escape takes six characters for one byte.
  if (text.length > 6 * (longestByBytes + longestReasonBytes) + 7) return undefined;
  try {
    const words: unknown = JSON.parse(text);
    if (!Array.isArray(words) || words.length !== 2) return undefined;
    const [by, reason] = words as unknown[];
    return typeof by === 'string' && typeof reason === 'string' ? { by, reason } : undefined;
  } catch {
    return undefined;
  }
}
