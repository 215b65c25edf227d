import { OptionError } from '../errors/index.js';
import { shardOf, validateKey, validateShardCount } from './shard-of.js';

/** Where a key lives instead of its hashed shard; while it moves, it still lives at `from`. */
export type Pin =
  | { readonly state: 'pinned'; readonly shard: number }
  | { readonly state: 'moving'; readonly from: number; readonly to: number };

/** So many shards may lie beyond the hash range. Each is one more lease to read and renew. */
export const extraShardLimit = 1_024;
/** So many keys may be pinned. Pins are for exceptions: every process reads them all. */
export const pinLimit = 10_000;

/**
 * The keys of a group that do not live where their hash says. Immutable: each change makes a new table, to be written
 * over the version it was made from.
 *
 * A pin may name a shard beyond the hash range (`shardCount` to `shardCount + 1023`), where the key is alone, or with the
 * others pinned there. A key gets and loses its pin by a *move*, since whatever it has in its old shard must be finished
 * before the new one begins: `beginMove`, then the seal and the drain of the key, then `finishMove`.
 */
export class PinTable {
  readonly shardCount: number;
  /** The version of the stored table this was read as, or is to replace; 0 if there is none yet. */
  readonly version: number;
  /** The shards beyond the hash range that pins name, destinations of moves included. Ascending. */
  readonly extraShards: readonly number[];
  readonly #pins: ReadonlyMap<string, Pin>;

  /** @throws {OptionError} for a bad shard count, key or shard, or too many pins. */
  constructor(shardCount: number, version = 0, pins: Iterable<readonly [string, Pin]> = []) {
    this.shardCount = validateShardCount(shardCount);
    this.version = version;
    this.#pins = new Map(pins);
    if (this.#pins.size > pinLimit) throw tooManyPins(this.#pins.size);
    const extras = new Set<number>();
    for (const [key, pin] of this.#pins) {
      validateKey(key);
      for (const shard of shardsOf(pin)) {
        validatePinnedShard(shard, shardCount);
        if (shard >= shardCount) extras.add(shard);
      }
    }
    this.extraShards = [...extras].sort((a, b) => a - b);
  }

  /** How many keys are pinned or moving. */
  get size(): number {
    return this.#pins.size;
  }

  lookup(key: string): Pin | undefined {
    return this.#pins.get(key);
  }

  entries(): IterableIterator<[string, Pin]> {
    return new Map(this.#pins).entries();
  }

  /** Where the key lives now: by its pin, else by its hash. @throws {OptionError} as `shardOf`. */
  shardOf(key: string): number {
    const pin = this.#pins.get(key);
    if (pin === undefined) return shardOf(key, this.shardCount);
    return pin.state === 'pinned' ? pin.shard : pin.from;
  }

  /**
   * Marks the key as on its way to a shard; it stays where it is until {@link finishMove}. To take a pin away, move the
   * key to its hashed shard. Repeating it changes nothing, nor does a move to where the key is.
   *
   * @throws {OptionError} for a bad key or shard, if the key is on its way elsewhere, or if there are too many pins.
   */
  beginMove(key: string, to: number): PinTable {
    validateKey(key);
    validatePinnedShard(to, this.shardCount);
    const pin = this.#pins.get(key);
    if (pin?.state === 'moving') {
      if (pin.to === to) return this;
      const problem = `is not where the key is moving to (${pin.to})`;
      throw new OptionError('to', to, problem, 'finish the move under way first');
    }
    const from = this.shardOf(key);
    return from === to ? this : this.#with(key, { state: 'moving', from, to });
  }

  /**
   * From now on the key lives at the destination of its move: pinned there, or without a pin if its hash says the same.
   * Repeating it changes nothing.
   *
   * @throws {OptionError} if the key is neither on its way there nor there already.
   */
  finishMove(key: string, to: number): PinTable {
    validateKey(key);
    const pin = this.#pins.get(key);
    if (pin?.state === 'moving' && pin.to === to) {
      const isHome = shardOf(key, this.shardCount) === to;
      return this.#with(key, isHome ? undefined : { state: 'pinned', shard: to });
    }
    if (pin?.state !== 'moving' && this.shardOf(key) === to) return this;
    throw new OptionError('to', to, 'is not where the key is moving to', 'begin the move first');
  }

  #with(key: string, pin: Pin | undefined): PinTable {
    const pins = new Map(this.#pins);
    if (pin === undefined) pins.delete(key);
    else pins.set(key, pin);
    return new PinTable(this.shardCount, this.version, pins);
  }
}

function shardsOf(pin: Pin): readonly number[] {
  return pin.state === 'pinned' ? [pin.shard] : [pin.from, pin.to];
}

function validatePinnedShard(shard: number, shardCount: number): void {
  const limit = shardCount + extraShardLimit;
  if (Number.isInteger(shard) && shard >= 0 && shard < limit) return;
  throw new OptionError('shard', shard, 'is no shard a pin can name', `use 0 to ${limit - 1}`);
}

function tooManyPins(count: number): OptionError {
  return new OptionError(
    'pins',
    count,
    `are more than ${pinLimit}`,
    'pin exceptions only; raise the shard count if many keys need room',
  );
}
