import type { EtcdOperation } from '../../drivers/etcd/index.js';
import { OptionError } from '../../errors/index.js';
import { Batch } from '../batch.js';
import type { Effect } from '../rule.js';
import { bytesOf, type FenceKeys } from './keys.js';

/** What one transaction takes by default (`--max-txn-ops`). One is the fence's own. */
const mostOperations = 128;

/** Writes that one transaction executes if the token passes, or none of them. */
export class EtcdBatch extends Batch {
  protected readonly resource = 'etcd';
  readonly #keys: FenceKeys;
  readonly #comparedCount: number;
  /** etcd takes one write of a key in a transaction: the last one counts. */
  readonly #operations = new Map<string, EtcdOperation>();

  /** @internal Use `fence.transaction`. @param comparedCount what the fence compares besides the effects. */
  constructor(keys: FenceKeys, comparedCount: number) {
    super();
    this.#keys = keys;
    this.#comparedCount = comparedCount;
  }

  /**
   * Queues a write. Nothing is sent before the work has returned.
   *
   * @throws {OptionError} if the key is empty, or one of the fence's own, if either is no text, or if that makes more than
   * one transaction takes: 127, each record of an effect included, of which there can be 126 beside leases. The batch is not executed then, not even if the error is
   * swallowed.
   */
  put(key: string, value: string): void {
    this.orSpoil(() => {
      const bytes = this.#checkKey(key);
      if (!isText(value)) {
        throw new OptionError('value', typeof value, 'is not a text', 'pass UTF-8 text');
      }
      this.#queue(bytes, { kind: 'put', key: bytes, value, lease: '0' });
    });
  }

  /** Queues the removal of one key; it need not be there. @throws {OptionError} as {@link put}. */
  delete(key: string): void {
    this.orSpoil(() => {
      const bytes = this.#checkKey(key);
      this.#queue(bytes, { kind: 'delete', range: { key: bytes } });
    });
  }

  /** @internal */
  get operations(): readonly EtcdOperation[] {
    return [...this.#operations.values()];
  }

  /** @internal */
  get recorded(): readonly Effect[] {
    return this.effects;
  }

  /** @internal @throws {OptionError} if it holds more than one transaction takes. */
  checkSize(): void {
    const { length: effectCount } = this.effects;
    const count = this.#operations.size + effectCount;
    // Each record of an effect is a condition, too, and etcd counts both.
    const mostEffects = mostOperations - this.#comparedCount;
    if (count < mostOperations && effectCount <= mostEffects) return;
    throw new OptionError(
      'batch',
      count,
      'is more than one transaction of etcd takes',
      `write up to ${mostOperations - 1} keys at once, ${mostEffects} records of effects among them at most`,
    );
  }

  #queue(key: string, operation: EtcdOperation): void {
    this.#operations.set(key, operation);
    this.checkSize();
  }

  #checkKey(key: string): string {
    if (!isText(key) || key === '') {
      throw new OptionError('key', key, 'is not a key', 'pass UTF-8 text that is not empty');
    }
    const bytes = bytesOf(key);
    if (!this.#keys.isOwn(bytes)) return bytes;
    throw new OptionError('key', key, "is one of the fence's own", 'choose another key');
  }
}

/** A lone surrogate would be stored as something else. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && !/\p{Cs}/u.test(value);
}
