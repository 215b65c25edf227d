import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';

/** Failures of the steps before a connection stands, in which nothing of a request is sent. */
const connectCodes = new Set([
  ...['UND_ERR_CONNECT_TIMEOUT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED'],
  ...['CERT_NOT_YET_VALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_UNTRUSTED', 'CERT_REVOKED'],
]);
const connectSyscalls = new Set(['connect', 'getaddrinfo']);

/**
 * What the failure of a `fetch` says of the request. Only a connection that never stood proves that nothing was done; an
 * abort, a reset and everything unknown leave it open.
 */
export function failureOf(error: unknown, resource: string): Error {
  // `fetch` tells the reason in the cause of a TypeError that says no more than "fetch failed".
  const why = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  if (isBeforeSending(why)) {
    const message = `the service of "${resource}" could not be reached; nothing was sent. Check its address, and try again.`;
    return new UnreachableError(message, why);
  }
  const message = `a request under "${resource}" may have been sent, and has no answer: it may have been executed. Ask the service, or repeat it with the same idempotency key.`;
  return new OutcomeUnknownError(message, why);
}

function isBeforeSending(error: unknown): boolean {
  // Several addresses were tried, each in vain.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every(isBeforeSending);
  if (!(error instanceof Error)) return false;
  // The Fetch standard lists ports that it never asks; the error has no code.
  if (error.message === 'bad port') return true;
  const code: unknown = Reflect.get(error, 'code');
  const syscall: unknown = Reflect.get(error, 'syscall');
  return (
    (typeof code === 'string' && connectCodes.has(code)) ||
    (typeof syscall === 'string' && connectSyscalls.has(syscall))
  );
}
