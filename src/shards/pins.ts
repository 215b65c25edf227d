import { type Coordinator, checkTimeout, validateName } from '../coordinators/index.js';
import { type Known, requireKnown, requireMethods } from '../errors/checks.js';
import { StoreRefusedError } from '../errors/index.js';
import { Backoff, type Runtime, sleep } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { formatPins, parsePins } from './pin-document.js';
import { PinTable } from './pin-table.js';
import { defaultShardCount, validateShardCount } from './shard-of.js';

export interface PinsOptions {
  /** Where the table is kept: one document, `<group>/pins`. Used, not owned. */
  readonly coordinator: Coordinator;
  readonly group: string;
  /** A power of two from 1 to 65,536, the same in the whole group. Default 256. */
  readonly shardCount?: number;
  /** One request to the store may take this long, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Clocks, timers and randomness. Default: the real ones. */
  readonly runtime?: Runtime;
}

const optionKeys: Known<PinsOptions> = {
  ...{ coordinator: true, group: true, shardCount: true, timeoutMs: true, runtime: true },
};

/** So many writers in a row may be faster than us. */
const conflictLimit = 20;

/**
 * The pins of a group as this process last read them, and the way to change them.
 *
 * It reads when told to and never by itself. `ShardWorker` refreshes it with every sweep; who only routes keys refreshes
 * it as often as a stale answer would hurt.
 */
export class Pins {
  readonly group: string;
  readonly shardCount: number;
  readonly #coordinator: Coordinator;
  readonly #runtime: Runtime;
  readonly #timeoutMs: number;
  #table: PinTable;
  #reading: Promise<PinTable> | undefined;

  private constructor(options: PinsOptions) {
    requireKnown('options', options, optionKeys, 'pass { coordinator, group }');
    requireMethods(
      'coordinator',
      options.coordinator,
      ['readDocument', 'writeDocument'],
      'is not a coordinator',
      'pass what memoryCoordinator() or redisCoordinator(url) returns',
    );
    this.group = validateName(options.group, 'group');
    validateName(this.#name, 'group');
    this.shardCount = validateShardCount(options.shardCount ?? defaultShardCount);
    this.#coordinator = options.coordinator;
    this.#runtime = requireRuntime(options.runtime);
    this.#timeoutMs = checkTimeout({ timeoutMs: options.timeoutMs ?? 5_000 });
    this.#table = new PinTable(this.shardCount);
  }

  /**
   * The pins of a group, read once: without knowing them no key can be routed.
   *
   * @throws {OptionError} for a bad option, or if the stored pins are for another shard count. {@link RecordCorruptError}
   * if what is stored is no table of pins. The errors of the store.
   */
  static async load(options: PinsOptions): Promise<Pins> {
    const pins = new Pins(options);
    await pins.refresh();
    return pins;
  }

  /** As last read. */
  get table(): PinTable {
    return this.#table;
  }

  /** Shards beyond the hash range that pins name. */
  get extraShards(): readonly number[] {
    return this.#table.extraShards;
  }

  /** Where the key lives, as last read: by its pin, else by its hash; while it moves, at its source. */
  shardOf(key: string): number {
    return this.#table.shardOf(key);
  }

  /** Reads the table; calls made meanwhile share the request. The old one stays if it fails. @throws as {@link load} */
  refresh(): Promise<PinTable> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** See {@link PinTable.beginMove}. Safe to repeat after any error. @throws as that and {@link load} */
  beginMove(key: string, to: number): Promise<PinTable> {
    return this.#change((table) => table.beginMove(key, to));
  }

  /**
   * See {@link PinTable.finishMove}. Safe to repeat after any error.
   *
   * @param version of the table that the move was carried out under. If another one is stored by now nothing is changed,
   * and that one is returned. Default: whichever is stored.
   * @throws as that and {@link load}
   */
  finishMove(key: string, to: number, version?: number): Promise<PinTable> {
    return this.#change((table) =>
      version === undefined || version === table.version ? table.finishMove(key, to) : table,
    );
  }

  /** Reads, changes and writes if nobody else wrote in between; otherwise again, from what the other wrote. */
  async #change(change: (table: PinTable) => PinTable): Promise<PinTable> {
    const backoff = new Backoff(this.#runtime, { firstMs: 5, limitMs: 200 });
    let current = await this.#read();
    for (let conflictCount = 0; conflictCount < conflictLimit; conflictCount++) {
      const next = change(current);
      if (next === current) return current;
      const result = await this.#coordinator.writeDocument(
        this.#name,
        formatPins(next),
        current.version,
        { timeoutMs: this.#timeoutMs },
      );
      if (result.outcome === 'written')
        return this.#adopt(new PinTable(this.shardCount, result.version, next.entries()));
      await sleep(this.#runtime, backoff.nextMs());
      current = await this.#read();
    }
    throw new StoreRefusedError(
      'CONFLICT',
      `the pins of "${this.group}" were changed by others ${conflictLimit} times in a row; nothing was written. Try again.`,
    );
  }

  async #read(): Promise<PinTable> {
    const options = { timeoutMs: this.#timeoutMs };
    const stored = await this.#coordinator.readDocument(this.#name, options);
    if (stored === undefined) return this.#adopt(new PinTable(this.shardCount));
    return this.#adopt(parsePins(this.#name, stored, this.shardCount));
  }

  /** Answers may come in another order than they were sent: a newer table stays. A deleted one begins anew. */
  #adopt(table: PinTable): PinTable {
    if (table.version >= this.#table.version || table.version === 0) this.#table = table;
    return table;
  }

  get #name(): string {
    return `${this.group}/pins`;
  }
}
