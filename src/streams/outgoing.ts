import { OptionError } from '../errors/index.js';
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
  /** Anything that has a JSON form; handlers get what `JSON.parse` makes of it. */
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
  const { key, id, seq } = message;
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
  const remedy = 'pass plain data: objects, arrays, texts, finite numbers, booleans, null';
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch {
    const problem = 'has no JSON form: it holds a cycle, a BigInt, or a toJSON that throws';
    throw new OptionError('payload', payload, problem, remedy);
  }
  if (text === undefined) throw new OptionError('payload', payload, 'has no JSON form', remedy);
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
