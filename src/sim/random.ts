/**
 * A stream of random numbers of its own for each component: what one draws changes nothing for the others, so that a
 * fault can be taken out of a schedule and everything else stays as it was.
 */
export class Random {
  #state: number;

  /** The stream of `component` in the run of `seed`. */
  constructor(seed: number, component: string) {
    this.#state = mixed(seed ^ hashOf(component));
  }

  /** A number in [0, 1). Mulberry32: the same numbers for the same seed on every platform. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A number in [from, to). */
  between(from: number, to: number): number {
    return from + (to - from) * this.next();
  }

  /** A whole number in [from, to]. */
  integer(from: number, to: number): number {
    return from + Math.floor((to - from + 1) * this.next());
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** In order of magnitude: as often between 1 and 10 as between 10 and 100. */
  magnitude(from: number, to: number): number {
    return from * (to / from) ** this.next();
  }

  hex(bytes: number): string {
    let text = '';
    for (let index = 0; index < bytes; index++) {
      text += Math.floor(this.next() * 256)
        .toString(16)
        .padStart(2, '0');
    }
    return text;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Neighbouring seeds give streams that have nothing in common. */
function mixed(seed: number): number {
  let value = seed >>> 0;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
