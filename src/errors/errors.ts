/// <reference types="node" preserve="true" />
import type { ErrorCode } from './catalogue.js';
import { redactSecrets, sanitizedCause } from './redact.js';

/** What every error of tenure has: a stable {@link ErrorCode} to switch on, and a message that says what to do next. */
export class TenureError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(
      redactSecrets(message),
      cause === undefined ? undefined : { cause: sanitizedCause(cause) },
    );
    this.code = code;
    this.name = new.target.name;
  }
}

/** Input was refused before anything was started: names the option, the value (shortened) and the remedy. */
export class OptionError extends TenureError {
  readonly option: string;
  readonly value: unknown;
  readonly remedy: string;

  constructor(option: string, value: unknown, problem: string, remedy: string) {
    super('TENURE_BAD_OPTION', `${option} ${problem}${got(value)}: ${remedy}`);
    this.option = option;
    this.value = typeof value === 'string' ? redactSecrets(value) : value;
    this.remedy = remedy;
  }
}

/** The store could not be reached, so the request was *not* executed; trying again is safe. */
export class UnreachableError extends TenureError {
  constructor(message: string, cause?: unknown) {
    super('TENURE_UNREACHABLE', message, cause);
  }
}

/** The request was sent and no answer came: it may have been executed, may still be, or never will. Never a success. */
export class OutcomeUnknownError extends TenureError {
  constructor(message: string, cause?: unknown) {
    super('TENURE_OUTCOME_UNKNOWN', message, cause);
  }
}

/** The `storeCode` of a request that reached the store after its deadline, and so was not executed. */
export const tooLateCode = 'TOO_LATE';

/** The store answered and will not execute the request now; `storeCode` is its own word, e.g. `OOM` or `READONLY`. */
export class StoreRefusedError extends TenureError {
  readonly storeCode: string;

  constructor(storeCode: string, message: string, cause?: unknown) {
    super('TENURE_STORE_REFUSED', message, cause);
    this.storeCode = storeCode;
  }
}

/** The store answers, but its configuration would break a promise (it evicts leases, it is a replica, it denies us). */
export class StoreMisconfiguredError extends TenureError {
  constructor(message: string, cause?: unknown) {
    super('TENURE_STORE_MISCONFIGURED', message, cause);
  }
}

/** A record under one of our names has a foreign type or content. It is left as it is. */
export class RecordCorruptError extends TenureError {
  constructor(message: string, cause?: unknown) {
    super('TENURE_RECORD_CORRUPT', message, cause);
  }
}

/** The key is sealed for a move to another shard; nothing was appended. Publish again. */
export class KeyMovingError extends TenureError {
  constructor(message: string) {
    super('TENURE_KEY_MOVING', message);
  }
}

/** A message numbered by its publisher would leave a hole in its key's sequence; nothing was appended. */
export class SequenceGapError extends TenureError {
  readonly lastSeq: number;

  constructor(message: string, lastSeq: number) {
    super('TENURE_SEQUENCE_GAP', message);
    this.lastSeq = lastSeq;
  }
}

/**
 * The effect of this number of a key is recorded, but for another message: the numbering has begun again, as it does
 * when a log loses its state, or a publisher gave one number twice. The effect of the new message is *not* there.
 */
export class SequenceReusedError extends TenureError {
  readonly scope: string;
  readonly key: string;
  readonly seq: number;
  /** The id of the message that came now. */
  readonly id: string;
  /** The id of the message whose effect is recorded. */
  readonly recordedId: string;

  constructor(scope: string, key: string, seq: number, id: string, recordedId: string) {
    super(
      'TENURE_SEQUENCE_REUSED',
      `number ${seq} of key ${preview(key)} is recorded in scope "${scope}" for message ${preview(recordedId)}, and now came with message ${preview(id)}: the log has lost its state and numbers anew, or a publisher used the number twice. Record under a new scope once the numbering has begun again, or number the messages yourself.`,
    );
    this.scope = scope;
    this.key = key;
    this.seq = seq;
    this.id = id;
    this.recordedId = recordedId;
  }
}

/** A fence refused a write: a higher term, or the same term from another incarnation, was installed before. */
export class StaleTermError extends TenureError {
  readonly resource: string;
  readonly term: number;
  readonly installedTerm: number;

  constructor(resource: string, term: number, installedTerm: number) {
    super(
      'TENURE_STALE_TERM',
      `the write to "${resource}" with term ${term} was refused: ${
        installedTerm === term
          ? 'another incarnation holds that same term'
          : `term ${installedTerm} is installed`
      }. Another process owns it now; stop working on it and acquire again.`,
    );
    this.resource = resource;
    this.term = term;
    this.installedTerm = installedTerm;
  }
}

/** The object was closed; what was called on it did nothing. */
export class ClosedError extends TenureError {
  constructor(what: string) {
    super('TENURE_CLOSED', `${what} is closed; create a new one to go on.`);
  }
}

/**
 * Whether trying again may help: the store could not be reached, gave no answer, or refuses for now. `false` for bad
 * input, closed objects, foreign records and a misconfigured store, which stay as they are.
 */
export function isTransient(error: unknown): error is TenureError {
  return (
    error instanceof UnreachableError ||
    error instanceof OutcomeUnknownError ||
    error instanceof StoreRefusedError
  );
}

/** Nothing where there is no value, or one that holds a secret and was given as `hidden`. */
function got(value: unknown): string {
  return value === undefined || value === 'hidden' ? '' : ` (got ${preview(value)})`;
}

const previewLength = 60;

/** What JSON leaves as it is, and a terminal does not show, or shows as another line or order. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** A value as a short, single-line, secret-free text for a message. */
export function preview(value: unknown): string {
  if (typeof value === 'string') {
    const text = redactSecrets(value);
    const cut =
      text.length > previewLength
        ? `${text.slice(0, previewLength)}... ${text.length} characters`
        : text;
    return JSON.stringify(cut).replace(unseen, codeOf);
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}
