import { types } from 'node:util';
import { requireObject } from '../errors/checks.js';
import { OptionError, preview } from '../errors/index.js';
import { checkKey, checkSeq, longestMessageIdBytes } from './requests.js';

/** A message to publish. */
export interface OutgoingMessage {
  /** Messages of one key are handled in order. 1 to 512 bytes of UTF-8 without NUL. */
  readonly key: string;
  /**
   * Unique per key, 1 to 255 bytes of UTF-8 without NUL, and the same again whenever this message is published again:
   * the id is how a repetition is recognised, within the store's dedupe window.
   */
  readonly id: string;
  /**
   * Plain data: objects, arrays, texts, finite numbers, booleans, `null`, and what has a `toJSON`. Handlers get what
   * `JSON.parse` makes of its JSON, so a property that is `undefined` is gone and -0 is 0; anything else that JSON would
   * drop or change (NaN, functions, a Map, `undefined` in an array) is refused.
   */
  readonly payload: unknown;
  /**
   * The message's number if the publisher counts by itself, as an outbox does: 1 for the first of its key, then one
   * more each time. A number that was accepted before is a duplicate for ever; one too high is refused.
   */
  readonly seq?: number;
}

/** A message as it travels. */
export interface EncodedMessage {
  readonly key: string;
  readonly id: string;
  readonly payload: string;
  readonly seq?: number;
}

const notStorable = /[\0\p{Cs}]/u;

/** @throws {OptionError} naming what is wrong with it: `key`, `id`, `seq` or `payload`. */
export function encodeMessage(
  message: OutgoingMessage,
  largestPayloadBytes: number,
): EncodedMessage {
  const { key, id, seq } = requireObject('message', message, 'pass { key, id, payload }');
  checkKey(key);
  checkId(id);
  if (seq !== undefined) checkSeq(seq, 'seq', 1);
  const payload = encodePayload(message.payload, largestPayloadBytes);
  return seq === undefined ? { key, id, payload } : { key, id, payload, seq };
}

function checkId(id: string): void {
  const isText = typeof id === 'string' && id !== '' && !notStorable.test(id);
  if (isText && Buffer.byteLength(id) <= longestMessageIdBytes) return;
  const remedy = `use 1 to ${longestMessageIdBytes} bytes of UTF-8 text without NUL, the same for every try`;
  throw new OptionError('id', id, 'is empty, too long or no text', remedy);
}

function encodePayload(payload: unknown, largestBytes: number): string {
  const text = toJson(payload);
  // A code unit is at most three bytes, so most payloads need no counting.
  if (text.length * 3 <= largestBytes) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= largestBytes) return text;
  throw new OptionError(
    'payload',
    `${bytes} bytes of JSON`,
    'is too large',
    `use at most ${largestBytes} bytes, and publish a reference to larger things`,
  );
}

function toJson(payload: unknown): string {
  let found: string | undefined;
  let problem = 'has no JSON form';
  try {
    const text = JSON.stringify(payload, function (this: unknown, name: string, value: unknown) {
      found = notInJson(value, this, name);
      if (found === undefined) return value;
      const place = name === '' ? '' : ` at ${preview(name)}`;
      problem = `holds ${found}${place}, which JSON would drop or change`;
      throw new TypeError(problem);
    });
    if (text !== undefined) return text;
  } catch {
    if (found === undefined)
      problem = 'has no JSON form: it holds a cycle, or a toJSON that throws';
  }
  const remedy = 'pass plain data: objects, arrays, texts, finite numbers, booleans, null';
  throw new OptionError('payload', payload, problem, remedy);
}

/**
 * What `JSON.stringify` would silently turn into something else, in words.
 *
 * @param value what stands in `holder` under `name`, or what its `toJSON` made of it.
 */
function notInJson(value: unknown, holder: unknown, name: string): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : String(value);
    case 'undefined':
      return Array.isArray(holder) ? 'undefined' : undefined;
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    case 'bigint':
      return 'a BigInt';
    case 'object':
      if (value !== null) return lossyObject(value);
      // The toJSON of a date that is none answers null.
      return types.isDate(Reflect.get(Object(holder), name)) ? 'an invalid Date' : undefined;
    default:
      return undefined;
  }
}

function lossyObject(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null || Array.isArray(value))
    return undefined;
  if (types.isNumberObject(value)) return notInJson(Number(value), undefined, '');
  if (types.isArrayBufferView(value)) return `a ${value.constructor.name}`;
  return lossyKinds.find(([isKind]) => isKind(value))?.[1];
}

/** Their contents are no properties, so JSON would keep `{}`. */
const lossyKinds: readonly (readonly [(value: unknown) => boolean, string])[] = [
  [types.isMap, 'a Map'],
  [types.isSet, 'a Set'],
  [types.isWeakMap, 'a WeakMap'],
  [types.isWeakSet, 'a WeakSet'],
  [types.isRegExp, 'a RegExp'],
  [types.isNativeError, 'an Error'],
  [types.isPromise, 'a Promise'],
  [types.isAnyArrayBuffer, 'an ArrayBuffer'],
  [types.isSymbolObject, 'a symbol'],
  [types.isBigIntObject, 'a BigInt'],
];
