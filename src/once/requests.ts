import { type CallOptions, checkTimeout, validateHolderId } from '../coordinators/index.js';
import { notText } from '../coordinators/names.js';
import { checkAct, checkWords } from '../coordinators/requests.js';
import { requireObject, requireWhole } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type {
  OnceBeginRequest,
  OnceEnd,
  OnceEndRequest,
  OnceSettleRequest,
  OnceUnknownOptions,
} from './contract.js';
import {
  longestDetailLength,
  longestResultBytes,
  mostKeys,
  type OnceAttemptRef,
} from './records.js';
import { isAttemptNumber, isMoment, longestEffectMs } from './rules/sound.js';

/*
 * What every store checks before it sends anything, so that all refuse the same. Each answers with a copy: what the caller
 * changes meanwhile changes nothing.
 */

export const longestKeyBytes = 255;
/** The least time an effect may take. */
export const shortestEffectMs = 100;
/** A minute to a century: how long what became of a key may be kept. */
const shortestKeepMs = 60_000;
const longestKeepMs = 100 * 365 * 24 * 60 * 60 * 1000;

/** @throws {OptionError} unless it is 1 to 255 bytes of UTF-8 without control characters. */
export function validateKey(key: string): string {
  const isFit = typeof key === 'string' && key !== '' && Buffer.byteLength(key) <= longestKeyBytes;
  if (isFit && !notText.test(key)) return key;
  const remedy = `use 1 to ${longestKeyBytes} bytes of UTF-8 text without control characters`;
  throw new OptionError('key', key, 'is not an idempotency key', remedy);
}

/** @throws {OptionError} */
export function checkBegin(request: OnceBeginRequest): OnceBeginRequest {
  const { key, nonce, startedBy, timeoutMs, keepUnknownMs, repeat } = requireObject(
    'request',
    request,
  );
  checkNonce(nonce);
  validateKey(key);
  validateHolderId(startedBy, 'startedBy');
  checkEffectTime(timeoutMs);
  if (keepUnknownMs !== undefined) checkKeep('keepUnknownMs', keepUnknownMs);
  if (repeat === undefined) return { key, nonce, startedBy, timeoutMs, keepUnknownMs };
  const { by, reason } = checkAct(requireObject('repeat', repeat));
  const whole = { ...checkAttemptRef('repeat', repeat), by, reason };
  return { key, nonce, startedBy, timeoutMs, keepUnknownMs, repeat: whole };
}

/** @throws {OptionError} */
export function checkEnd(request: OnceEndRequest): OnceEndRequest {
  const { key, nonce, end } = requireObject('request', request);
  validateKey(key);
  checkNonce(nonce);
  return { key, nonce, end: checkedEnd(requireObject('end', end)) };
}

function checkedEnd(end: OnceEnd): OnceEnd {
  const { kind, detail, keepMs } = end;
  if (detail !== undefined) checkDetail(detail);
  switch (kind) {
    case 'done':
      return { kind, result: checkResult(end.result), detail, keepMs: checkKeep('keepMs', keepMs) };
    case 'not-applied':
      return { kind, detail: checkDetail(detail), keepMs: checkKeep('keepMs', keepMs) };
    case 'unknown':
      if (keepMs !== undefined) checkKeep('keepMs', keepMs);
      return { kind, detail: checkDetail(detail), keepMs };
    default:
      throw new OptionError('kind', kind, 'is no end', 'use done, not-applied or unknown');
  }
}

/** @throws {OptionError} */
export function checkSettle(request: OnceSettleRequest): OnceSettleRequest {
  const { key, nonce, of, end, by, reason } = requireObject('request', request);
  validateKey(key);
  checkNonce(nonce);
  checkAct({ by, reason });
  const act = { by, reason, ...(of !== undefined && { of: checkAttemptRef('of', of) }) };
  return { key, nonce, ...act, end: checkedSettlement(requireObject('end', end)) };
}

function checkedSettlement(end: OnceSettleRequest['end']): OnceSettleRequest['end'] {
  const { kind } = end;
  const keepMs = checkKeep('keepMs', end.keepMs);
  if (kind === 'done') return { kind, result: checkResult(end.result), keepMs };
  if (kind === 'not-applied') return { kind, keepMs };
  throw new OptionError('kind', kind, 'is no settlement', 'use done or not-applied');
}

/** @throws {OptionError} */
export function checkUnknownOptions(options: OnceUnknownOptions): OnceUnknownOptions {
  const { limit, after } = requireObject('options', options);
  checkLimit(limit);
  if (after === undefined) return { limit };
  const { key, deadlineAtMs } = requireObject('after', after);
  if (isMoment(deadlineAtMs) && Number.isInteger(deadlineAtMs))
    return { limit, after: { key: validateKey(key), deadlineAtMs } };
  throw new OptionError('after', deadlineAtMs, 'is no record', 'pass the last one of the page');
}

/** @throws {OptionError} */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostKeys) return limit;
  const remedy = `use a whole number from 1 to ${mostKeys}`;
  throw new OptionError('limit', limit, 'is out of range', remedy);
}

/** @throws {OptionError} */
export function checkCall(call: CallOptions): number {
  return checkTimeout(requireObject('call', call, 'pass { timeoutMs }'));
}

/** @throws {OptionError} */
export function checkEffectTime(timeoutMs: number): number {
  return checkDuration('timeoutMs', timeoutMs, shortestEffectMs, longestEffectMs);
}

/** @throws {OptionError} */
export function checkKeep(option: string, keepMs: number): number {
  return checkDuration(option, keepMs, shortestKeepMs, longestKeepMs);
}

/** @throws {OptionError} unless it is a whole number in that range. */
export function checkDuration(
  option: string,
  value: number,
  smallestMs: number,
  largestMs: number,
): number {
  return requireWhole(option, value, smallestMs, largestMs, ' milliseconds');
}

function checkAttemptRef(option: string, of: OnceAttemptRef): OnceAttemptRef {
  const { attempt, startedAtMs } = requireObject(option, of);
  const isTime = isMoment(startedAtMs) && Number.isInteger(startedAtMs);
  if (isAttemptNumber(attempt) && isTime) return { attempt, startedAtMs };
  throw new OptionError(option, attempt, 'is no attempt', 'pass the record that was read');
}

function checkNonce(nonce: string): void {
  if (typeof nonce === 'string' && /^[0-9a-f]{32}$/.test(nonce)) return;
  const remedy = 'use 32 random lower-case hexadecimal digits';
  throw new OptionError('nonce', 'hidden', 'is not a nonce', remedy);
}

/** It may hold a payload, which must not stand in an error. */
function checkResult(result: string | undefined): string | undefined {
  if (result === undefined) return undefined;
  const bytes = typeof result === 'string' ? Buffer.byteLength(result) : 0;
  if (bytes > 0 && bytes <= longestResultBytes && isStorable(result)) return result;
  const remedy = `use JSON text on one line, of at most ${longestResultBytes} bytes`;
  throw new OptionError('result', `${bytes} bytes`, 'is not fit to be kept', remedy);
}

/** JSON text escapes both; not every store could keep them. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Cs}/u.test(text);
}

function checkDetail(detail: string): string {
  return checkWords('detail', detail, 4 * longestDetailLength);
}
