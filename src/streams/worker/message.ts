import { RecordCorruptError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import type { StoredMessage } from '../contract.js';

/** One message as its handler sees it. */
export interface DeliveredMessage<Payload = unknown> {
  readonly key: string;
  /** Position among the messages of this key: 1, 2, 3, ... without a hole. */
  readonly seq: number;
  /** The publisher's own id, unique per key. */
  readonly id: string;
  /** The parsed JSON. */
  readonly payload: Payload;
  /** Unix time of the append, by the store's clock. */
  readonly appendedAtMs: number;
  readonly shard: number;
  /** 1 for the first try by this owner, then one more for each try after a failure. A new owner begins at 1 again. */
  readonly attempt: number;
}

/** What the handler works under. The same object for all messages of one shard and term. */
export interface HandlerContext {
  /** Ownership of the message's shard. It is the fencing token of every write the handler makes. */
  readonly lease: Lease;
  /** Aborts when the lease ends, before the shard can be somebody else's. Hand it to everything the handler awaits. */
  readonly signal: AbortSignal;
}

/**
 * Handles one message. The message is finished when the handler returns or its promise resolves; if it throws, the
 * same message is tried again after a pause, and nothing behind it in the shard is begun before that.
 *
 * It may see one message twice: delivery is at least once. Two messages of one shard are never handled at a time, unless
 * a handler that ignored its aborted signal was reported as `handlerAbandoned`: what it still does then runs beside the
 * handler of the next owner, in this process or in another one, and only a fence can refuse its writes.
 */
export type MessageHandler<Payload = unknown> = (
  message: DeliveredMessage<Payload>,
  context: HandlerContext,
) => unknown;

/** @throws {RecordCorruptError} if the payload is not JSON: somebody else wrote it. */
export function deliver<Payload>(
  stored: StoredMessage,
  shard: number,
  attempt: number,
): DeliveredMessage<Payload> {
  const { key, seq, id, appendedAtMs } = stored;
  return { key, seq, id, payload: parse(stored, shard), appendedAtMs, shard, attempt };
}

function parse<Payload>({ payload, position }: StoredMessage, shard: number): Payload {
  try {
    return JSON.parse(payload) as Payload;
  } catch {
    // The text itself and the parser's quote of it stay out of the message: payloads are not for logs.
    throw new RecordCorruptError(
      `the message at ${position} in shard ${shard} has a payload that is not JSON, so no handler can take it. It blocks its shard until it is removed by hand; find the writer that bypasses Topic.publish.`,
    );
  }
}
