import { carriedKind, ofKind } from './kinds.js';

/**
 * Keeps passwords out of everything printed: connection URLs turn up in third parties' messages as well as in ours.
 *
 * The user part may itself hold a colon or an `@`, so everything between `//` and the last `@` before the next
 * delimiter is replaced. Of the scheme only the last letter is looked at: one that is looked for from its beginning is tried
 * anew at every letter of a long text, half a second for one megabyte.
 */
const credentialsInUrl = /((?<=[a-z0-9+.-]):\/\/)[^\s/?#"'<>]*@/gi;
const passwordParameter = /([?&](?:password|pass|auth|token|secret)=)[^&\s"'<>]*/gi;

/** The text with the credentials of every URL in it replaced by `***`. */
export function redactSecrets(text: string): string {
  return text.replace(credentialsInUrl, '$1***@').replace(passwordParameter, '$1***');
}

/**
 * A foreign error reduced to name, code, kind and redacted message.
 *
 * Client libraries hang the command with its arguments on their errors; a logger that prints causes would print
 * holder nonces and payloads.
 */
export function sanitizedCause(cause: unknown): Error {
  if (!(cause instanceof Error)) return new Error(redactSecrets(String(cause)));
  if ('code' in cause && typeof cause.code === 'string' && cause.code.startsWith('TENURE_'))
    return cause;
  const copy = new Error(redactSecrets(cause.message));
  copy.name = cause.name;
  if (cause.stack !== undefined) copy.stack = redactSecrets(cause.stack);
  if ('code' in cause && typeof cause.code === 'string') Object.assign(copy, { code: cause.code });
  return ofKind(carriedKind(cause), copy);
}
