import { requireDuration, requireKnown } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { type Act, longestByBytes, longestReasonBytes, type RevokeRequest } from './acts.js';
import { type EnrollRequest, isStanding, standings, type WithdrawRequest } from './candidates.js';
import {
  type AcquireRequest,
  type CallOptions,
  type CoordinatorPromises,
  type HandoffRequest,
  largestDocumentBytes,
  largestMetadataBytes,
  longestTtlMs,
  type ReleaseRequest,
  type RenewRequest,
} from './contract.js';
import { Holder, validateHolderId } from './holder.js';
import { notText, validateName } from './names.js';
import { highestTerm, validateTerm } from './term.js';

/*
 * What every coordinator refuses before it sends anything. Each function returns a list of its own, of the caller's
 * objects: a coordinator that reads them later than in this turn copies them. All throw `OptionError`, for the whole
 * batch.
 */

type TtlLimits = Pick<CoordinatorPromises, 'smallestTtlMs' | 'largestTtlMs'>;

const endReasonPattern = /^[a-z-]{1,32}$/;
const shortestEntryMs = 100;
const attemptPattern = /^[0-9a-f]{32}$/;

/** The longest `timeoutMs` of a call: what Node's timers can wait for, about 24.8 days. */
const longestTimeoutMs = 2 ** 31 - 1;

export function checkAcquires(
  requests: readonly AcquireRequest[],
  limits: TtlLimits,
): AcquireRequest[] {
  return checkBatch(requests, (request) => {
    checkHolder(request.holder);
    checkAttempt(request.attempt);
    requireDuration('ttlMs', request.ttlMs, limits.smallestTtlMs, limits.largestTtlMs);
    if (request.above !== undefined) checkAbove(request.above);
    if (request.metadata !== undefined) validateMetadata(request.metadata);
    if (request.graceMs !== undefined)
      requireDuration('graceMs', request.graceMs, 0, limits.largestTtlMs);
  });
}

export function checkRenewals(
  requests: readonly RenewRequest[],
  limits: TtlLimits,
): RenewRequest[] {
  return checkBatch(requests, (request) => {
    checkHolder(request.holder);
    validateTerm(request.term);
    requireDuration('ttlMs', request.ttlMs, limits.smallestTtlMs, limits.largestTtlMs);
    if (request.metadata !== undefined) validateMetadata(request.metadata);
  });
}

export function checkReleases(requests: readonly ReleaseRequest[]): ReleaseRequest[] {
  return checkBatch(requests, (request) => {
    checkHolder(request.holder);
    if ('attempt' in request) checkAttempt(request.attempt);
    else validateTerm(request.term);
    if (request.reason !== undefined) checkEndReason(request.reason);
  });
}

export function checkHandoffs(
  requests: readonly HandoffRequest[],
  limits: TtlLimits,
): HandoffRequest[] {
  return checkBatch(requests, (request) => {
    checkHolder(request.holder);
    validateTerm(request.term);
    validateHolderId(request.to, 'to');
    requireDuration('reserveMs', request.reserveMs, 1, limits.largestTtlMs);
  });
}

export function checkEnrollments(requests: readonly EnrollRequest[]): EnrollRequest[] {
  return checkBatch(requests, (request) => {
    checkHolder(request.holder);
    if (!isStanding(request.standing)) {
      const remedy = `use ${standings.join(', ')}`;
      throw new OptionError('standing', request.standing, 'is no standing of a candidate', remedy);
    }
    checkPreference(request.preference);
    requireDuration('ttlMs', request.ttlMs, shortestEntryMs, longestTtlMs);
    if (request.metadata !== undefined) validateMetadata(request.metadata);
  });
}

export function checkWithdrawals(requests: readonly WithdrawRequest[]): WithdrawRequest[] {
  return checkBatch(requests, ({ holder }) => checkHolder(holder));
}

/** As it comes from a user. @throws {OptionError} for what is no act, or says more than that. */
export function requireAct(act: Act): Act {
  return requireKnown('act', act, { by: true, reason: true }, 'pass { by, reason }');
}

export function checkAct(act: Act): Act {
  checkWords('by', act.by, longestByBytes);
  checkWords('reason', act.reason, longestReasonBytes);
  return act;
}

export function checkRevocation(request: RevokeRequest): RevokeRequest {
  checkAct(request);
  const { term, to, reserveMs } = request;
  if (term !== undefined) validateTerm(term);
  if (to === undefined && reserveMs === undefined) return request;
  validateHolderId(to as string, 'to');
  requireDuration('reserveMs', reserveMs as number, 1, longestTtlMs);
  return request;
}

/** @throws {OptionError} unless it is an integer from 0 to 99. */
export function checkPreference(preference: number): number {
  if (Number.isInteger(preference) && preference >= 0 && preference <= 99) return preference;
  const remedy = 'use an integer from 0 to 99; the highest is called first';
  throw new OptionError('preference', preference, 'is no preference', remedy);
}

export function checkNames(names: readonly string[]): string[] {
  const checked = [...names];
  for (const name of checked) validateName(name);
  return checked;
}

/** The root group is the empty text; any other is written like a name. */
export function checkGroup(group: string): string {
  return group === '' ? group : validateName(group, 'group');
}

export function checkDocument(text: string, expectedVersion: number): void {
  if (typeof text !== 'string' || Buffer.byteLength(text) > largestDocumentBytes) {
    throw new OptionError(
      'text',
      sizeOf(text),
      'is no text or too long',
      `keep a document within ${largestDocumentBytes} bytes of UTF-8`,
    );
  }
  if (!Number.isSafeInteger(expectedVersion) || expectedVersion < 0) {
    throw new OptionError(
      'expectedVersion',
      expectedVersion,
      'is not a version',
      'pass the version that was read, or 0 if the document must not exist yet',
    );
  }
}

/** What every store asks of a call. @throws {OptionError} unless its `timeoutMs` is one that a timer can wait for. */
export function checkTimeout(call: CallOptions): number {
  return requireDuration('timeoutMs', call.timeoutMs, Number.MIN_VALUE, longestTimeoutMs);
}

/** Two requests for one name have no order inside a batch, so their answers would mean nothing. */
function checkBatch<Request extends { readonly name: string }>(
  requests: readonly Request[],
  check: (request: Request) => void,
): Request[] {
  const names = new Set<string>();
  for (const request of requests) {
    validateName(request.name);
    if (names.has(request.name)) {
      throw new OptionError(
        'name',
        request.name,
        'stands twice in one batch',
        'send at most one request per name in one call',
      );
    }
    names.add(request.name);
    check(request);
  }
  return [...requests];
}

/** @throws {OptionError} */
export function checkHolder(holder: Holder): void {
  if (holder instanceof Holder) return;
  throw new OptionError('holder', holder, 'is not a Holder', 'create one with Holder.create');
}

function checkEndReason(reason: string): void {
  if (typeof reason === 'string' && endReasonPattern.test(reason)) return;
  throw new OptionError('reason', reason, 'is no reason', 'use 1 to 32 letters a-z and hyphens');
}

/** What people wrote: it is stored, listed and printed, so it is one line of text. @throws {OptionError} */
export function checkWords(option: string, words: string, longestBytes: number): string {
  const isFit =
    typeof words === 'string' && words.trim() !== '' && Buffer.byteLength(words) <= longestBytes;
  if (isFit && !notText.test(words)) return words;
  const remedy = `use 1 to ${longestBytes} bytes of UTF-8 text without control characters`;
  throw new OptionError(option, words, 'does not say who or why', remedy);
}

function checkAttempt(attempt: string): void {
  if (typeof attempt === 'string' && attemptPattern.test(attempt)) return;
  throw new OptionError(
    'attempt',
    attempt,
    'is not an attempt',
    'use 32 random lower-case hexadecimal digits',
  );
}

/** The granted term is higher than `above` and must itself still be one. */
function checkAbove(above: number): void {
  validateTerm(above, 'above');
  if (above < highestTerm) return;
  throw new OptionError('above', above, 'leaves no higher term', `use less than ${highestTerm}`);
}

/** @throws {OptionError} unless it is JSON text of at most {@link largestMetadataBytes}. */
export function validateMetadata(metadata: string): void {
  const remedy = `use JSON text of at most ${largestMetadataBytes} bytes`;
  if (typeof metadata !== 'string' || Buffer.byteLength(metadata) > largestMetadataBytes) {
    throw new OptionError('metadata', sizeOf(metadata), 'is no text or too long', remedy);
  }
  try {
    JSON.parse(metadata);
  } catch {
    throw new OptionError('metadata', sizeOf(metadata), 'is not JSON', remedy);
  }
}

/** Stands for a payload in an error, which must not carry it. */
function sizeOf(text: unknown): string {
  return typeof text === 'string' ? `${Buffer.byteLength(text)} bytes` : typeof text;
}

/** For stores that execute a call later than in this turn: what the caller changes meanwhile changes nothing. */
export function copies<Request extends object>(requests: readonly Request[]): Request[] {
  return requests.map((request) => ({ ...request }));
}
