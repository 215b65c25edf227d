/** What happens then. */
export interface Action {
  happen(): void;
}

/** Something that will happen. `cancel` is safe at any time, any number of times. */
export class Happening {
  readonly atMs: number;
  readonly order: number;
  #action: Action | undefined;

  constructor(atMs: number, order: number, action: Action) {
    this.atMs = atMs;
    this.order = order;
    this.#action = action;
  }

  get isCancelled(): boolean {
    return this.#action === undefined;
  }

  cancel(): void {
    this.#action = undefined;
  }

  /** Once. */
  happen(): void {
    const action = this.#action;
    this.#action = undefined;
    action?.happen();
  }
}

/** What will happen, earliest first; of two at one time, the one that was planned first. A binary heap. */
export class Queue {
  readonly #heap: Happening[] = [];

  get size(): number {
    return this.#heap.length;
  }

  add(added: Happening): void {
    const heap = this.#heap;
    let index = heap.push(added) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Happening;
      if (isEarlier(parent, added)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = added;
  }

  /** Takes out the first one, if it is due by then. Those that were cancelled are left out. */
  takeDue(limitMs: number): Happening | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (!first.isCancelled && first.atMs > limitMs) return undefined;
      this.#removeFirst();
      if (!first.isCancelled) return first;
    }
    return undefined;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop() as Happening;
    const size = heap.length;
    if (size === 0) return;
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      const right = child + 1;
      if (right < size && isEarlier(heap[right] as Happening, heap[child] as Happening))
        child = right;
      if (isEarlier(last, heap[child] as Happening)) break;
      heap[index] = heap[child] as Happening;
      index = child;
    }
    heap[index] = last;
  }
}

function isEarlier(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
