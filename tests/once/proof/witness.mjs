import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** @typedef {{ readonly key: string, readonly receipt: string }} Charge one effect that took place */

/**
 * The bank: a file with a line for each effect that took place. It shares nothing with what it judges, and an append is one
 * system call, so that a process that is killed has written its line or has not.
 */
export class Witness {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /**
   * @param {string} key
   * @param {string} receipt
   */
  charge(key, receipt) {
    appendFileSync(this.#path, `${key} ${receipt}\n`);
  }

  /** @returns {Charge[]} */
  charges() {
    if (!existsSync(this.#path)) return [];
    const lines = readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [key = '', receipt = ''] = line.split(' ');
      return { key, receipt };
    });
  }

  /** @param {string} key */
  find(key) {
    return this.charges().find((charge) => charge.key === key);
  }
}
