import { requireKnown, requireMethods } from '../errors/checks.js';
import { isTransient, KeyMovingError, OptionError } from '../errors/index.js';
import type { Pins, PinTable } from '../shards/index.js';
import { Backoff, elapsedMs, sleep } from '../time/index.js';
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

/** What one round of a move came to; `superseded`: a log has seen a newer table than ours. */
type Round = 'finished' | 'undrained' | 'superseded' | 'unanswered';

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
 * Every step carries the version of the table it was decided under. The logs and the table refuse a lower one, so a mover
 * that froze in the middle and was overtaken changes nothing when it wakes. Ids are remembered where they were
 * accepted: a publish whose outcome was unknown *before* the move and that is repeated after it may be appended twice,
 * unless it carries its own `seq`.
 *
 * Moving a key to where it lives makes sure that it is open there.
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
  requireKnown('options', options, { timeoutMs: true });
  const pins = requirePins(
    requireMethods('topic', topic, ['publish'], 'is not a topic', 'pass a Topic'),
  );
  const timeoutMs = checkTimeoutMs(options.timeoutMs ?? 30_000);
  const { runtime } = topic;
  const startedAt = runtime.now();
  const backoff = new Backoff(runtime, drainPolling);
  let table = await pins.beginMove(key, to);
  const from = table.shardOf(key);
  for (;;) {
    const round = await goOn(topic, pins, table, key, to);
    if (round === 'finished') return { key, from, to };
    const leftMs = timeoutMs - elapsedMs(startedAt, runtime.now());
    if (leftMs <= 0) throw notMoved(round, key, table.shardOf(key), timeoutMs);
    await sleep(runtime, Math.min(leftMs, backoff.nextMs()));
    // Others may have changed the table meanwhile, or finished this very move.
    if (round === 'superseded') table = await pins.refresh();
  }
}

/** Seals, opens and finishes, as far as it gets. @throws {OptionError} if the key is not on its way there (any more). */
async function goOn(
  topic: Topic,
  pins: Pins,
  table: PinTable,
  key: string,
  to: number,
): Promise<Round> {
  const { version } = table;
  const call = { timeoutMs: topic.attemptTimeoutMs };
  if (isThere(table, key, to)) {
    const opened = await topic.store.open(to, key, 0, version, call);
    return opened.outcome === 'opened' ? 'finished' : 'superseded';
  }
  table.finishMove(key, to);
  const sealed = await trySeal(topic, key, table.shardOf(key), version);
  if (sealed?.outcome !== 'sealed') return sealed?.outcome ?? 'unanswered';
  if (!sealed.drained) return 'undrained';
  const opened = await topic.store.open(to, key, sealed.lastSeq, version, call);
  if (opened.outcome === 'superseded') return 'superseded';
  // Only under the version that the key was sealed and opened with: a later move must be sealed and drained anew.
  const finished = await pins.finishMove(key, to, version);
  return isThere(finished, key, to) ? 'finished' : 'superseded';
}

function isThere(table: PinTable, key: string, to: number): boolean {
  return table.lookup(key)?.state !== 'moving' && table.shardOf(key) === to;
}

/** `undefined` if the store gave no answer for now: sealing is repeated anyway. */
async function trySeal(topic: Topic, key: string, shard: number, version: number) {
  try {
    return await topic.store.seal(shard, key, version, { timeoutMs: topic.attemptTimeoutMs });
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}

function requirePins({ pins }: Topic): Pins {
  if (pins !== undefined) return pins;
  const remedy = 'create the topic, and its workers, with the pins of their group';
  throw new OptionError('topic', 'a topic', 'has no pins', remedy);
}

function checkTimeoutMs(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && Number.isFinite(timeoutMs) && timeoutMs >= 1)
    return timeoutMs;
  throw new OptionError('timeoutMs', timeoutMs, 'is out of range', 'use 1 and above');
}

function notMoved(round: Round, key: string, shard: number, timeoutMs: number): KeyMovingError {
  if (round === 'superseded') {
    return new KeyMovingError(
      `key "${key}" was not moved within ${timeoutMs} ms: a log has seen a newer table of pins than the coordinator has. Either somebody else moves keys at this moment, then repeat the move; or the table was lost or restored from a backup, then restore the newest one.`,
    );
  }
  return new KeyMovingError(
    `key "${key}" was not moved: its messages in shard ${shard} were not finished within ${timeoutMs} ms. It stays sealed; make sure that a worker owns the shard and its handler succeeds, then repeat the move.`,
  );
}
