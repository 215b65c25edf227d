import type { Coordinator } from '../../../src/coordinators/index.js';
import type { MemoryVariant } from '../memory-target.js';

/** A coordinator with one mistake, and the case that must notice. */
export interface WrongCoordinator extends MemoryVariant {
  /** What it does wrong, in the present tense. */
  readonly mistake: string;
  /** The id of the conformance case that must reject it. */
  readonly rejectedBy: string;
}

/** `honest` with some methods replaced; the others, which live on its prototype, are passed on. */
export function replacing(honest: Coordinator, methods: Partial<Coordinator>): Coordinator {
  return new Proxy(honest, {
    get(target, key) {
      const own: unknown = Reflect.get(methods, key);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
