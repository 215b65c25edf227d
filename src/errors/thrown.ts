import { redactSecrets } from './redact.js';

/**
 * What work of a user threw, as it is; or an error in its place, if even to ask what it is throws, as of a proxy that has been
 * revoked. Whoever catches it can ask then.
 */
export function askable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('it threw a proxy that has been revoked');
  }
}

/** No text is longer: what was thrown may have one of any length. */
const longestText = 1_000;

/**
 * What code of a user threw, and where in that code, for a message. Anything can be thrown, also what throws when it is asked
 * for its text. What is no error may be a payload, and is not shown.
 */
export function sayThrown(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error))
      return `what was thrown is no error, but a value of type ${typeof thrown}`;
    const line = `${thrown.name}: ${thrown.message}`.replace(/\p{Cc}+/gu, ' ');
    const text = redactSecrets(line).replace(/\.$/, '');
    const place = placeIn(String(thrown.stack));
    return `${text.length > longestText ? `${text.slice(0, longestText)}…` : text}${place}`;
  } catch {
    return 'what was thrown has no text';
  }
}

/** Where the code of the user is in a stack: the first line that is neither Node's nor an installed package's. */
function placeIn(stack: string): string {
  const isOwn = (line: string) =>
    /^\s+at /.test(line) && !/\bnode:|[\\/]node_modules[\\/]/.test(line);
  const line = stack.split('\n').find(isOwn);
  return line === undefined ? '' : `, ${redactSecrets(line.trim())}`;
}
