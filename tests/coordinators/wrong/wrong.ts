import type { MemoryVariant } from '../memory-target.js';

/** A coordinator with one mistake, and the case that must notice. */
export interface WrongCoordinator extends MemoryVariant {
  /** What it does wrong, in the present tense. */
  readonly mistake: string;
  /** The id of the conformance case that must reject it. */
  readonly rejectedBy: string;
}
