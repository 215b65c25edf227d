import { OptionError, RecordCorruptError, redactSecrets } from '../errors/index.js';
import type { OnceDone, OnceSettleRequest } from './contract.js';
import { ResultNotKeptError } from './errors.js';
import { longestDetailLength, longestResultBytes, type OnceRecord } from './records.js';
import { wordsOf } from './words.js';

/** What an effect resolved with, as it is kept; or why it cannot be, since the effect took place in any case. */
export function kept(value: unknown): Pick<OnceDone, 'result' | 'detail'> {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return { result: undefined, detail: 'it is no JSON value' };
  }
  if (text === undefined)
    return value === undefined
      ? { result: undefined }
      : { result: undefined, detail: `it is no JSON value, but a ${typeof value}` };
  const bytes = Buffer.byteLength(text);
  if (bytes <= longestResultBytes) return { result: text };
  const detail = `it takes ${bytes} bytes of JSON, more than ${longestResultBytes}`;
  return { result: undefined, detail };
}

/** The value of a result. A key `__proto__` is left out, so that it can be copied and merged without harm. */
function parsed({ key: ofKey, result }: Pick<OnceRecord, 'key' | 'result'>): unknown {
  if (result === undefined) return undefined;
  try {
    return withoutProto(JSON.parse(result));
  } catch {
    throw new RecordCorruptError(
      `the stored result of the idempotency key "${ofKey}" is no JSON: something else has written it. The effect is done, and is not called: restore the result.`,
    );
  }
}

/** Level by level: a text that JSON could write and read may be nested deeper than a call for each level can follow. */
function withoutProto(value: unknown): unknown {
  const rest = [value];
  for (const one of rest) {
    if (typeof one !== 'object' || one === null) continue;
    if (Object.hasOwn(one, '__proto__')) Reflect.deleteProperty(one, '__proto__');
    for (const part of Object.values(one)) rest.push(part);
  }
  return value;
}

/** What an error says, as one line that can be kept. */
export function detailOf(error: unknown): string {
  const { name, message } = wordsOf(error);
  const text = name === undefined ? message : `${name}: ${message}`;
  const line = redactSecrets(text)
    .replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .slice(0, longestDetailLength)
    // A pair that was cut.
    .replace(/\p{Cs}$/u, '')
    .trim();
  return line === '' ? 'an error without words' : line;
}

/** What a key that is done gives whoever asks. @throws {ResultNotKeptError} */
export function resultOf(record: OnceRecord): unknown {
  if (record.detail !== undefined) throw new ResultNotKeptError(record, record.detail);
  return parsed(record);
}

/** @throws {OptionError} for what is neither outcome, or a value that cannot be kept. */
export function settlementOf(
  outcome: 'not-applied' | { readonly done: unknown },
  keepMs: number,
): OnceSettleRequest['end'] {
  if (outcome === 'not-applied') return { kind: outcome, keepMs };
  if (typeof outcome === 'object' && outcome !== null && 'done' in outcome)
    return settledEnd(outcome.done, keepMs);
  const remedy = "pass 'not-applied' or { done: value }";
  throw new OptionError('outcome', outcome, 'is no outcome of an effect', remedy);
}

/** @throws {OptionError} for a value that cannot be kept: here nothing is lost by refusing it. */
export function settledEnd(
  value: unknown,
  keepMs: number,
): Extract<OnceSettleRequest['end'], { kind: 'done' }> {
  const { result, detail } = kept(value);
  if (detail === undefined) return { kind: 'done', result, keepMs };
  throw new OptionError('done', 'hidden', `cannot be kept: ${detail}`, 'pass a small JSON value');
}
