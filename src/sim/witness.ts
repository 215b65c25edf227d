import type { StoredRecord } from '../coordinators/rules/record.js';
import type { Lease } from '../leases/index.js';
import type { Runtime } from '../time/index.js';

/** What happens in a run, told to the checkers as it happens. Times are true times. */
export interface SimEvents {
  /** What stands under a name in the store has changed. `cause`: by a request, by time, or by a fault of the store. */
  changed: {
    readonly name: string;
    readonly before: StoredRecord | undefined;
    readonly after: StoredRecord | undefined;
    readonly cause: 'request' | 'time' | 'fault';
  };
  /** A server has executed a request. */
  executed: {
    readonly process: string;
    readonly operation: string;
    /** The call had settled before: its caller was told something else. */
    readonly hadSettled: boolean;
    readonly timeoutMs: number;
    /** By true time, after the moment up to which it may be executed; minus infinity if the store knows no such moment. */
    readonly lateMs: number;
  };
  /** A call of the coordinator begins. */
  calling: Pick<CallRecord, 'process' | 'operation' | 'args'>;
  /** A call of the coordinator has settled, as its caller saw it. */
  called: CallRecord;
  /** A process has a lease. */
  acquired: { readonly process: string; readonly lease: Lease; readonly runtime: Runtime };
  ended: {
    readonly process: string;
    readonly lease: Lease;
    readonly how: 'lost' | 'released';
    readonly reason: string;
  };
  /** Something was written at the resource, whatever the fence says about it. */
  effect: Effect;
  /** The resource has answered a write with a refusal. */
  refused: Omit<Effect, 'values'> & { readonly changedSomething: boolean };
  crashed: { readonly process: string };
  /** The store, or one of its servers, has lost something that it had confirmed. */
  forgot: { readonly server: string };
  /** A scenario has got something done: what has to go on once the faults are over. */
  progress: { readonly process: string; readonly what: string };
  /** Something interesting, for the report of what was covered. */
  covered: { readonly what: string };
}

export interface Effect {
  readonly process: string;
  readonly name: string;
  readonly term: number;
  readonly holderDigest: string;
  /** What stands there now, under each key that it wrote; `undefined` under one where nothing does. */
  readonly values: readonly unknown[];
}

export interface CallRecord {
  readonly process: string;
  readonly operation: string;
  readonly args: readonly unknown[];
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** By the caller's own monotonic clock, against what it had allowed. */
  readonly tookMs: number;
  /** It was paused meanwhile, so that it could not give up in time. */
  readonly wasPaused: boolean;
  readonly timeoutMs: number | undefined;
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };
}

type Listeners = { [Name in keyof SimEvents]?: ((event: SimEvents[Name]) => void)[] };

/** Where it is told what happens. Listeners are called at once, in the order in which they came. */
export class Witness {
  readonly #listeners: Listeners = {};

  on<Name extends keyof SimEvents>(name: Name, listener: (event: SimEvents[Name]) => void): void {
    const listeners: ((event: SimEvents[Name]) => void)[] = this.#listeners[name] ?? [];
    listeners.push(listener);
    this.#listeners[name] = listeners as Listeners[Name];
  }

  tell<Name extends keyof SimEvents>(name: Name, event: SimEvents[Name]): void {
    const listeners = this.#listeners[name];
    if (listeners === undefined) return;
    for (const listener of listeners) listener(event);
  }

  cover(what: string): void {
    this.tell('covered', { what });
  }
}
