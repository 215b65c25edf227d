import { connectFailure, connectFailureKind } from '../../drivers/connect-failure.js';
import { OptionError, OutcomeUnknownError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';

/** Failures of the steps before a connection stands, in which nothing of a request is sent. */
const connectCodes = new Set([
  ...['UND_ERR_CONNECT_TIMEOUT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED'],
  ...['CERT_NOT_YET_VALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_UNTRUSTED', 'CERT_REVOKED'],
]);
const connectSyscalls = new Set(['connect', 'getaddrinfo']);

/** What `fetch` of Node looks at after the request was made, and before it is sent. */
const refusalCodes = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED']);

/**
 * What the failure of a `fetch` says of the request. Only a refusal of `fetch` itself, and a connection that never stood,
 * prove that nothing was done; an abort, a reset and everything unknown leave it open.
 *
 * @param url of the request, without user and password.
 */
export function failureOf(error: unknown, resource: string, url: string): Error {
  // `fetch` tells the reason in the cause of a TypeError that says no more than "fetch failed".
  const why = error instanceof TypeError && error.cause !== undefined ? error.cause : error;
  const refusal = refusalOf(why);
  if (refusal !== undefined) return refusal;
  if (isBeforeSending(why)) {
    const { protocol, host } = new URL(url);
    const isTls = protocol === 'https:';
    const otherwise = isTls ? 'http: for https: in the URL' : 'https: for http: in the URL';
    const hint = connectFailure(why, { protocol: 'HTTP', isTls, otherwise });
    const message = `the service of "${resource}" at ${host} could not be reached; nothing was sent: ${hint}.`;
    return unreachable(connectFailureKind(why), message, why);
  }
  const message = `a request under "${resource}" may have been sent, and has no answer: it may have been executed. Ask the service, or repeat it with the same idempotency key.`;
  return new OutcomeUnknownError(message, why);
}

/** A request that no server would be asked, however often it is tried. */
function refusalOf(why: unknown): OptionError | undefined {
  if (!(why instanceof Error)) return undefined;
  // The Fetch standard lists ports that it never asks; the error has no code.
  if (why.message === 'bad port') {
    const remedy = 'let the service listen on another port';
    return new OptionError('request', 'hidden', 'has a port that fetch never asks', remedy);
  }
  const code: unknown = Reflect.get(why, 'code');
  if (typeof code !== 'string' || !refusalCodes.has(code)) return undefined;
  const [header] = /[a-z-]+(?= header)/.exec(why.message) ?? [];
  const which = header === undefined ? '' : ` (${header})`;
  const problem = `has a header, or an option, that fetch does not send${which}`;
  return new OptionError('request', 'hidden', problem, 'leave it out; nothing was sent');
}

function isBeforeSending(error: unknown): boolean {
  // Several addresses were tried, each in vain.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every(isBeforeSending);
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  const syscall: unknown = Reflect.get(error, 'syscall');
  return (
    (typeof code === 'string' && connectCodes.has(code)) ||
    (typeof syscall === 'string' && connectSyscalls.has(syscall))
  );
}
