import type { Excuse } from '../models/model.js';
import type { Witness } from '../witness.js';
import type { Machine } from '../world/machine.js';

/** One invariant, or a few that belong together. A file each in this folder, and a line in `index.ts`. */
export interface Checker {
  readonly name: string;
  /** Listens to what it has to know. */
  attach(bench: Bench): void;
  /** After everything was closed. */
  atEnd?(bench: Bench): void;
}

/** What checkers see of a run, and where they say what is wrong. */
export interface Bench {
  readonly witness: Witness;
  /** True time. */
  readonly nowMs: () => number;
  readonly processes: readonly Machine[];
  /** When the last fault was over. */
  readonly healedAtMs: number;
  readonly ttlMs: number;
  /** Whether the model has said that this may happen now. */
  isExcused(what: Excuse): boolean;
  /** Something that must never happen has. The run ends, and is shown. */
  violated(what: string): void;
}

export interface Violation {
  readonly checker: string;
  readonly what: string;
  readonly atMs: number;
}
