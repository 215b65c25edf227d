import { Watch, type WatchOptions } from '../supervise/watch.js';

/**
 * A watchdog for each command at work, and one in reserve: to start one takes a moment, and a tick comes without warning.
 */
export class Watches {
  readonly #options: WatchOptions;
  readonly #all = new Set<Watch>();
  #reserve: Watch | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Has one in reserve. */
  prepare(): void {
    this.#reserve ??= this.#made();
    this.#reserve.prepare();
  }

  /** One that guards nothing. */
  take(): Watch {
    const watch = this.#reserve ?? this.#made();
    this.#reserve = undefined;
    return watch;
  }

  /** It guards nothing any more. */
  async giveBack(watch: Watch): Promise<void> {
    watch.gone();
    if (this.#reserve === undefined && this.#all.has(watch)) {
      this.#reserve = watch;
      return;
    }
    this.#all.delete(watch);
    await watch.dismiss();
  }

  /** Resolves when none is left. */
  async dismiss(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    this.#reserve = undefined;
    await Promise.all(all.map((watch) => watch.dismiss()));
  }

  #made(): Watch {
    const watch = new Watch(this.#options);
    this.#all.add(watch);
    return watch;
  }
}
