import { Emitter } from '../events/index.js';
import { type ElectionEvents, electionEventNames } from './events.js';

/**
 * Tells events one after the other. A listener of `elected` that ends the lease at once causes `lost`: without a queue,
 * listeners that subscribed later would hear of the loss first.
 */
export class Announcer {
  readonly #emitter = new Emitter<ElectionEvents>(electionEventNames);
  /** What is told here alone: the store has answered that a campaign stands in the queue. */
  readonly admissions = new Emitter<{ admitted: undefined }>({ admitted: true });
  readonly #queue: (() => void)[] = [];
  #isTelling = false;

  get events(): Emitter<ElectionEvents> {
    return this.#emitter;
  }

  tell<Name extends keyof ElectionEvents>(name: Name, event: ElectionEvents[Name]): void {
    this.#queue.push(() => this.#emitter.emit(name, event));
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) next();
    this.#isTelling = false;
  }
}
