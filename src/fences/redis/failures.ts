import { OutcomeUnknownError, StoreRefusedError } from '../../errors/index.js';
import type { RedisBatch } from './batch.js';

/** Nothing of the batch was executed, since the server takes this command not, or not so. */
export function refused(
  title: string,
  batch: RedisBatch | undefined,
  place: unknown,
  words: unknown,
): StoreRefusedError {
  const failure = failureOf(batch, place, words);
  return new StoreRefusedError(
    codeOf(words),
    `${title} was refused: ${failure}; nothing was executed.`,
  );
}

/** Which command failed, and with what, as far as that quotes none of its arguments. */
export function failureOf(batch: RedisBatch | undefined, place: unknown, words: unknown): string {
  return `${failed(batch, place)} failed with ${codeOf(words)}${kindOf(words)}`;
}

/** The server's own word; what follows it may quote an argument. */
function codeOf(words: unknown): string {
  return /^[A-Z][A-Z0-9]*(?=\s|$)/.exec(String(words))?.[0] ?? 'ERR';
}

/** What the server says of a command in words of its own alone; around them it may quote an argument. */
const kinds: readonly (readonly [words: RegExp, kind: string])[] = [
  [/^ERR wrong number of arg/i, 'it has too few or too many arguments'],
  [/^ERR unknown (?:redis )?(?:sub)?command/i, 'the server has no such command'],
  [/^ERR syntax error/i, 'syntax error'],
  [/^ERR (?:hash )?value is not an integer/i, 'a value is no integer, or out of range'],
  [
    /^ERR (?:hash )?value is not a valid float|^ERR hash value is not a float/i,
    'a value is no number',
  ],
  [/^ERR (?:min or max|weight value|score) is not a/i, 'a bound or weight is no number'],
  [/^ERR increment (?:or decrement )?would/i, 'the number would become too large'],
  [/^ERR invalid expire time/i, 'invalid expire time'],
  [/^ERR no such key/i, 'no such key'],
  [/^ERR index out of range/i, 'index out of range'],
  [/^ERR offset is out of range/i, 'offset is out of range'],
  [/^ERR string exceeds maximum/i, 'the string would become too long'],
  [/^ERR Invalid stream ID/i, 'invalid stream id'],
  [
    /^ERR The ID specified in XADD is equal or smaller/i,
    'the id is not above the last one of the stream',
  ],
  [
    /options? at the same time (?:is|are) not compatible$/i,
    'two of its options exclude each other',
  ],
];

function kindOf(words: unknown): string {
  const found = kinds.find(([pattern]) => pattern.test(String(words)));
  return found === undefined ? '' : ` (${found[1]})`;
}

function failed(batch: RedisBatch | undefined, place: unknown): string {
  const command = batch?.entries[Number(place) - 1];
  return command === undefined ? "the fence's own write" : `command ${place} (${command.name})`;
}

/** Fewer replicas have it than were wanted. */
export function notConfirmed(title: string, missing: string): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${title} was executed, but a failover may forget it: ${missing}. Look at what is there before you try again.`,
  );
}
