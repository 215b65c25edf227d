/** What stands for all values of a label above its bound. */
export const otherValue = 'other';

/** A name that could be taken for it, or for one that was quoted because of that. */
const likeOther = new RegExp(`^"*${otherValue}"*$`);

/**
 * Keeps the number of series small: names are data, and a program may have any number of them. The first so many values of a
 * label keep their own series, all others share one. Something that is called like that one is told in quotes.
 */
export class BoundedValues {
  readonly #limit: number;
  readonly #values = new Map<string, Set<string>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  of(label: string, value: string): string {
    let known = this.#values.get(label);
    if (known === undefined) {
      known = new Set();
      this.#values.set(label, known);
    }
    if (!known.has(value)) {
      if (known.size >= this.#limit) return otherValue;
      known.add(value);
    }
    return likeOther.test(value) ? `"${value}"` : value;
  }
}
