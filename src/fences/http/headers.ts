import { encodeName, highestTerm, isTerm, validateName } from '../../coordinators/index.js';
import { OptionError } from '../../errors/index.js';
import type { FencingToken } from '../contract.js';

/** The term: a decimal integer without sign or leading zeros. */
export const tokenHeader = 'fencing-token';
/** The first half of the SHA-256 of the holder: 32 lower-case hexadecimal digits. */
export const holderHeader = 'fencing-holder';
/** The name, percent-encoded. */
export const resourceHeader = 'fencing-resource';

/** What a request says about its owner. */
export interface Presented {
  readonly term: number;
  readonly holderDigest: string;
  /** Decoded; `undefined` if the request leaves it to the server. */
  readonly resource: string | undefined;
}

/** The value of a header, several of one name joined by a comma as HTTP has it; nothing if there is none. */
export type ReadHeader = (name: string) => string | null | undefined;

/** What a header holds does not follow its syntax. */
export class MalformedHeader {
  readonly header: string;
  readonly expected: string;

  constructor(header: string, expected: string) {
    this.header = header;
    this.expected = expected;
  }
}

const termPattern = /^[1-9][0-9]{0,15}$/;
const digestPattern = /^[0-9a-f]{32}$/;
/** What `encodeURIComponent` and its like leave alone, the slash, and whole escapes. */
const encodedPattern = /^(?:[A-Za-z0-9._~/!'()*-]|%[0-9A-Fa-f]{2})+$/;
/** 255 bytes, each escaped. */
const longestEncoded = 3 * 255;

/** The syntax of a term, as messages put it. */
const termSyntax = `one integer from 1 to ${highestTerm} in decimal digits, without sign or leading zeros`;
const digestSyntax = '32 lower-case hexadecimal digits';
const resourceSyntax =
  'one name of at most 255 bytes of UTF-8, in which every byte but those of letters, digits and . _ ~ - / is percent-encoded';

/**
 * Reads the three headers. A list, and so a header that stands twice, follows none of their syntaxes.
 *
 * @returns `undefined` if the request has none of them.
 */
export function readPresented(read: ReadHeader): Presented | MalformedHeader | undefined {
  const term = read(tokenHeader) ?? undefined;
  const digest = read(holderHeader) ?? undefined;
  const resource = read(resourceHeader) ?? undefined;
  if (term === undefined && digest === undefined && resource === undefined) return undefined;
  if (term === undefined || !termPattern.test(term) || !isTerm(Number(term)))
    return new MalformedHeader('Fencing-Token', termSyntax);
  if (digest === undefined || !digestPattern.test(digest))
    return new MalformedHeader('Fencing-Holder', digestSyntax);
  const name = resource === undefined ? undefined : decodeResource(resource);
  if (resource !== undefined && name === undefined)
    return new MalformedHeader('Fencing-Resource', resourceSyntax);
  return { term: Number(term), holderDigest: digest, resource: name };
}

/** The name that a header stands for, or `undefined` if it follows the syntax of none. */
export function decodeResource(encoded: string): string | undefined {
  if (encoded.length > longestEncoded || !encodedPattern.test(encoded)) return undefined;
  try {
    // Refuses what is not UTF-8, so that two headers never mean one name by a replacement character.
    return validateName(decodeURIComponent(encoded));
  } catch (error) {
    if (error instanceof URIError || error instanceof OptionError) return undefined;
    throw error;
  }
}

/** The headers of a request under `token`. */
export function headersOf(token: FencingToken): [name: string, value: string][] {
  return [
    ['Fencing-Token', String(token.term)],
    ['Fencing-Holder', token.holder.digest],
    ['Fencing-Resource', encodeName(token.name)],
  ];
}
