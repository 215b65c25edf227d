import { hostname } from 'node:os';
import { largestMetadataBytes, validateMetadata } from '../coordinators/index.js';
import { OptionError } from '../errors/index.js';

/** What JSON can say. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Deeper than this nobody describes a candidate; it is foreign text then. */
const largestDepth = 16;

/** The text of `metadata`, by default host and process id. @throws {OptionError} if it is no JSON or over 4 KiB. */
export function metadataText(metadata: Json = { host: hostname(), pid: process.pid }): string {
  const text = toJson(metadata);
  if (text === undefined) {
    const remedy = 'use text, numbers, booleans, null, lists and plain objects of them';
    throw new OptionError('metadata', typeof metadata, 'cannot be written as JSON', remedy);
  }
  validateMetadata(text);
  if (depthOf(JSON.parse(text)) <= largestDepth) return text;
  const remedy = `nest at most ${largestDepth} levels, in at most ${largestMetadataBytes} bytes`;
  throw new OptionError('metadata', `${text.length} characters`, 'is nested too deep', remedy);
}

/**
 * What another process wrote about itself; `undefined` for text that is not JSON, or nested too deep. A key `__proto__`
 * is left out, so that the value can be copied and merged without harm.
 */
export function parseMetadata(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text, (key, part) => (key === '__proto__' ? undefined : part)) as Json;
    return depthOf(value) > largestDepth ? undefined : value;
  } catch {
    return undefined;
  }
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return (
    1 + Object.values(value).reduce<number>((depth, part) => Math.max(depth, depthOf(part)), 0)
  );
}
