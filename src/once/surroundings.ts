import type { Emitter } from '../events/index.js';
import type { OnceStore } from './contract.js';
import type { OnceEvents } from './events.js';
import type { ResolvedOptions } from './options.js';
import type { Remainder } from './remainder.js';

/** What a call needs of its {@link Once}. */
export interface CallSurroundings {
  readonly store: OnceStore;
  readonly options: ResolvedOptions;
  readonly remainder: Remainder;
  readonly events: Emitter<OnceEvents>;
}
