import type { OnceStore } from '../../../src/once/index.js';
import { Once } from '../../../src/once/index.js';

/** What programs did at a store, one key for each state that a key may be in. */
export class Effects {
  readonly once: Once;
  readonly #release: (() => void)[] = [];

  constructor(store: OnceStore, id = 'replica-1') {
    this.once = new Once(store, { id });
  }

  /** It was called, and the answer was lost. */
  async unknown(key: string, message = 'the line broke'): Promise<void> {
    const failing = async () => {
      throw new Error(message);
    };
    await this.once.do(key, failing).catch(() => {});
  }

  /** Resolves when it has begun; it ends when this is closed. */
  async underWay(key: string): Promise<void> {
    await new Promise<void>((begun) => {
      const slow = () => {
        begun();
        return new Promise<void>((resolve) => this.#release.push(resolve));
      };
      void this.once.do(key, slow).catch(() => {});
    });
  }

  async done(key: string, result?: unknown): Promise<void> {
    await this.once.do(key, async () => result);
  }

  async close(): Promise<void> {
    for (const release of this.#release) release();
    await this.once.close();
  }
}
