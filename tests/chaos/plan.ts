import { SeededRandom } from '../support/fleet/random.js';
import { drawStep, type Step } from './faults/fault.js';

/** What happens next: one fault, or one and another in the middle of it. */
export interface Event {
  readonly step: Step;
  readonly companion: Step | undefined;
}

export interface PlanOptions {
  readonly seed: number;
  readonly kinds: readonly string[];
  /** What may come in the middle of another: two things that are done to one server would get in each other's way. */
  readonly companions: readonly string[];
  readonly ttlMs: number;
}

/**
 * Without end: all kinds in an order of their own, and then again in another. What is drawn for one fault does not change what
 * is drawn for the others.
 */
export function* planOf({ seed, kinds, companions, ttlMs }: PlanOptions): Generator<Event, never> {
  const random = new SeededRandom(seed);
  for (;;) {
    const order = kinds.map((kind) => ({ kind, at: random.next() }));
    order.sort((one, other) => one.at - other.at);
    for (const { kind } of order) {
      const own = random.fork();
      const step = drawStep(kind, own, ttlMs);
      const other = own.pick(companions);
      const companion = drawStep(other, own, ttlMs);
      const isAlone = own.chance(0.75) || other === kind;
      yield { step, companion: isAlone ? undefined : companion };
    }
  }
}
