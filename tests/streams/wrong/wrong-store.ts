import type { Wrap } from '../stores/memory-target.js';

/** A store that breaks one rule, and the conformance case that must notice. */
export interface WrongStore {
  readonly flaw: string;
  readonly rejectedBy: string;
  readonly wrap: Wrap;
}
