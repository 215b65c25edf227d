import {
  KeyMovingError,
  OptionError,
  OutcomeUnknownError,
  StoreRefusedError,
  UnreachableError,
} from '../errors/index.js';
import type { Pins } from '../shards/index.js';
import { Backoff, elapsedMs, sleep } from '../time/index.js';
import type { SealResult } from './contract.js';
import type { Topic } from './topic.js';

export interface MovePinOptions {
  /** The move is given up for now after this long, in milliseconds; 1 and above, default 30,000. */
  readonly timeoutMs?: number;
}

/** A move that is complete. `from` equals `to` if the key lived there already. */
export interface PinMove {
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

/** How often the source is asked whether the key's messages are finished there. */
const drainPolling = { firstMs: 10, limitMs: 500 };

/**
 * Moves a key to another shard, with its order and its numbers kept: pins it there, or takes its pin away if `to` is
 * the shard of its hash.
 *
 * The intent is written first and the new place last; between them the key is sealed at its source, its messages there
 * are finished by their owner, and it is opened at its destination behind its last number. Publishes of the key wait
 * meanwhile, for at most their own budget. Every step can be repeated, so a move that was interrupted anywhere, or ran
 * out of time, is completed by calling this again with the same destination; until then the key stays sealed.
 *
 * Move one key from one process at a time. Ids are remembered where they were accepted: a publish whose outcome was
 * unknown *before* the move and that is repeated after it may be appended twice, unless it carries its own `seq`.
 *
 * @param to a shard of the topic, or one beyond its hash range (up to 1,024 of them), which a worker then owns as well.
 * @throws {OptionError} if the topic has no pins, for a bad key or shard, or if the key is on its way elsewhere.
 * {@link KeyMovingError} if the source was not finished in time: it has no owner, a handler fails, or there is more to
 * do than fits. The errors of the store and of the coordinator.
 */
export async function movePin(
  topic: Topic,
  key: string,
  to: number,
  options: MovePinOptions = {},
): Promise<PinMove> {
  const pins = requirePins(topic);
  const timeoutMs = checkTimeoutMs(options.timeoutMs ?? 30_000);
  const table = await pins.beginMove(key, to);
  const pin = table.lookup(key);
  if (pin?.state !== 'moving') return { key, from: to, to };
  const { lastSeq } = await drained(topic, key, pin.from, table.version, timeoutMs);
  // Whoever helped with this move may have finished it, and the key may be sealed again for the next one.
  if (await isStillMoving(pins, key, to)) {
    const call = { timeoutMs: topic.attemptTimeoutMs };
    await topic.store.open(to, key, lastSeq, table.version, call);
  }
  await pins.finishMove(key, to);
  return { key, from: pin.from, to };
}

/** Seals the key, again and again, until all its messages in the shard are finished. */
async function drained(
  topic: Topic,
  key: string,
  shard: number,
  version: number,
  timeoutMs: number,
): Promise<{ readonly lastSeq: number }> {
  const { runtime } = topic;
  const startedAt = runtime.now();
  const backoff = new Backoff(runtime, drainPolling);
  for (;;) {
    const sealed = await trySeal(topic, key, shard, version);
    if (sealed?.outcome === 'sealed' && sealed.drained) return sealed;
    const leftMs = timeoutMs - elapsedMs(startedAt, runtime.now());
    if (leftMs <= 0) throw notDrained(key, shard, timeoutMs);
    await sleep(runtime, Math.min(leftMs, backoff.nextMs()));
  }
}

/** `undefined` if the store gave no answer for now: sealing is repeated anyway. */
async function trySeal(
  topic: Topic,
  key: string,
  shard: number,
  version: number,
): Promise<SealResult | undefined> {
  try {
    return await topic.store.seal(shard, key, version, { timeoutMs: topic.attemptTimeoutMs });
  } catch (error) {
    const mayPass =
      error instanceof UnreachableError ||
      error instanceof OutcomeUnknownError ||
      error instanceof StoreRefusedError;
    if (mayPass) return undefined;
    throw error;
  }
}

async function isStillMoving(pins: Pins, key: string, to: number): Promise<boolean> {
  const pin = (await pins.refresh()).lookup(key);
  return pin?.state === 'moving' && pin.to === to;
}

function requirePins({ name, pins }: Topic): Pins {
  if (pins !== undefined) return pins;
  const remedy = 'create the topic, and its workers, with the pins of their group';
  throw new OptionError('topic', name, 'has no pins', remedy);
}

function checkTimeoutMs(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && Number.isFinite(timeoutMs) && timeoutMs >= 1)
    return timeoutMs;
  throw new OptionError('timeoutMs', timeoutMs, 'is out of range', 'use 1 and above');
}

function notDrained(key: string, shard: number, timeoutMs: number): KeyMovingError {
  return new KeyMovingError(
    `key "${key}" was not moved: its messages in shard ${shard} were not finished within ${timeoutMs} ms. It stays sealed; make sure that a worker owns the shard and its handler succeeds, then repeat the move.`,
  );
}
