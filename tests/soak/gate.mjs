/** Lets everything that is repeated rest for a moment, so that what is measured then is not what one step needs. */
import { setTimeout as sleep } from 'node:timers/promises';

export class Gate {
  /** @type {Promise<void> | undefined} */
  #closed;
  #open = () => {};
  #insideCount = 0;

  /** Nobody is inside any more. */
  async close() {
    this.#closed ??= new Promise((resolve) => {
      this.#open = resolve;
    });
    while (this.#insideCount > 0) await sleep(10);
  }

  open() {
    this.#closed = undefined;
    this.#open();
  }

  /** @template Result @param {() => Promise<Result>} act @returns {Promise<Result>} */
  async through(act) {
    while (this.#closed !== undefined) await this.#closed;
    this.#insideCount += 1;
    try {
      return await act();
    } finally {
      this.#insideCount -= 1;
    }
  }
}
