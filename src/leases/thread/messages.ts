import type { CoordinatorRecipe } from '../../coordinators/index.js';
import type { LeaseLife } from '../machine.js';
import type { ResolvedTiming } from '../options.js';
import type { RenewalReport } from '../renewer.js';
import type { WireError } from './wire-error.js';

/** What a renewing thread is started with. All of it can be cloned into another thread. */
export interface ThreadStart {
  readonly recipe: CoordinatorRecipe;
  /** Of the main thread: by its clock all instants are told. */
  readonly clockOriginMs: number;
  readonly stallLimitMs: number;
  readonly onStall: 'lose' | 'exit';
  /** A {@link SharedRow}, written by the main thread: when its event loop last turned. */
  readonly pulse: SharedArrayBuffer;
}

/** A lease to renew from now on. */
export interface LeaseOrder {
  /** Of this lease in all later messages. */
  readonly key: number;
  readonly name: string;
  readonly holder: string;
  readonly term: number;
  readonly timing: ResolvedTiming;
  readonly life: LeaseLife;
  /** A {@link SharedRow}, written by the renewing thread: what has become of the life. */
  readonly row: SharedArrayBuffer;
}

export type ToThread =
  | { readonly type: 'add'; readonly order: LeaseOrder }
  /** The main thread knows that it ended, or has ended it. */
  | { readonly type: 'remove'; readonly key: number }
  | { readonly type: 'demand'; readonly key: number; readonly metadata: string | undefined }
  | { readonly type: 'close' };

export type FromThread =
  | { readonly type: 'ready' }
  /** The recipe makes no coordinator there. The thread ends. */
  | { readonly type: 'refused'; readonly error: WireError }
  /** Some life has changed: look at the rows. */
  | { readonly type: 'news' }
  | (Omit<RenewalReport, 'error'> & {
      readonly type: 'attempt';
      readonly error: WireError | undefined;
    });
