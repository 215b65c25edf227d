/** What was done, and what went wrong meanwhile. It does not grow with time: this process is what is measured. */

const shownCount = 5;

export class Tally {
  /** @type {Record<string, number>} */
  counts = {};
  /** @type {string[]} the first ones */
  troubles = [];
  /** @type {string[]} the first ones */
  disorders = [];
  /** @type {Map<string, number>} */
  #lastOfKey = new Map();

  /** @param {string} what */
  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** @param {unknown} error */
  trouble(error) {
    this.count('troubles');
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    if (this.troubles.length < shownCount) this.troubles.push(text.slice(0, 300));
  }

  /** Once more is allowed, a hole is not. @param {string} key @param {number} seq */
  handled(key, seq) {
    const last = this.#lastOfKey.get(key) ?? 0;
    if (seq <= last) return this.count('repeated');
    this.#lastOfKey.set(key, seq);
    this.count('handled');
    if (seq === last + 1) return;
    this.count('disorders');
    if (this.disorders.length < shownCount)
      this.disorders.push(`${seq} of ${key} came after ${last}`);
  }
}
