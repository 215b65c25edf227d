import {
  KeyMovingError,
  OutcomeUnknownError,
  RecordCorruptError,
  SequenceGapError,
  type TenureError,
  UnreachableError,
} from '../errors/index.js';
import type { Obstacle } from './lanes.js';
import type { EncodedMessage } from './outgoing.js';

/** What the caller is told when the budget of a publish is spent. */
export function budgetSpent(
  { key, id }: EncodedMessage,
  timeoutMs: number,
  obstacle: Obstacle | undefined,
): unknown {
  const message = `message "${id}" of key "${key}"`;
  switch (obstacle?.kind) {
    case 'unknown':
      return new OutcomeUnknownError(
        `${message} may have been published: no answer came within ${timeoutMs} ms. Publish again with the same id; a repetition is recognised.`,
        obstacle.cause,
      );
    case 'moving':
      return new KeyMovingError(
        `${message} was not published: the key was being moved to another shard for the whole ${timeoutMs} ms. Publish again; if that stays so, finish the move by repeating it.`,
      );
    case 'failed':
      return obstacle.cause;
    default:
      return new UnreachableError(
        `${message} was not published: it could not be sent within ${timeoutMs} ms. Publish again; a longer timeoutMs or fewer messages at a time help.`,
      );
  }
}

/** What the caller is told when a try had no answer and the next one ended in an error that stays. */
export function leftUnknown({ key, id }: EncodedMessage, cause: unknown): TenureError {
  return new OutcomeUnknownError(
    `message "${id}" of key "${key}" may have been published: one try had no answer, and another one was refused (see the cause). Publish again with the same id once that is mended; a repetition is recognised.`,
    cause,
  );
}

/** Before its first request a publisher asks how many shards the topic has; that question had no answer. */
export function notAsked(cause: OutcomeUnknownError): TenureError {
  return new UnreachableError(
    'the message was not published: the store did not answer in time how many shards the topic has. Publish again.',
    cause,
  );
}

export function foreignLog({ key, id }: EncodedMessage, detail: string): TenureError {
  return new RecordCorruptError(
    `message "${id}" of key "${key}" was not published, since something in its shard's log is not ours: ${detail}`,
  );
}

export function sequenceGap({ key, id, seq }: EncodedMessage, lastSeq: number): TenureError {
  return new SequenceGapError(
    `message "${id}" of key "${key}" has the number ${seq}, and the last one is ${lastSeq}: publish number ${lastSeq + 1} first.`,
    lastSeq,
  );
}

export function executedTooLate({ key, id }: EncodedMessage): TenureError {
  return new UnreachableError(
    `message "${id}" of key "${key}" was not published: the store was too slow to take it in time. Publish again.`,
  );
}
