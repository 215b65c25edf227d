import type { SuiteCase, SuiteTarget } from '../../conformance/index.js';
import type { OnceStore } from '../contract.js';

/** What the suite needs to judge a store of keys: two clients of one place in which no key is known yet. */
export interface OnceSubject {
  readonly store: OnceStore;
  /** Another client, as another process would have it. */
  readonly other: OnceStore;
  /** Lets at least this much time pass on the clock that judges deadlines. */
  pass(durationMs: number): Promise<void>;
  /** Lets time pass until the promise settles. */
  until<Value>(promise: Promise<Value>): Promise<Value>;
  readonly controls: Partial<OnceControls>;
  /** Ends all that was opened for this subject, both stores included. */
  close(): Promise<void>;
}

/** Ways to break the connection of `store`, each until `heal`; and to let a long time pass. */
export interface OnceControls {
  /** Requests are executed; the answers never arrive. */
  loseReplies(): Promise<void>;
  /** Requests stay on their way until {@link flushRequests}, even if the client has given them up. */
  holdRequests(): Promise<void>;
  /** Delivers what was held, and ends the holding. Resolves when the store has executed or refused it. */
  flushRequests(): Promise<void>;
  /** Nothing can be sent. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  /** The time comes at which a key is to be forgotten. */
  expire(key: string): Promise<void>;
  /** Unix times of this key come to lie so much later, as if the clock of the store had been set back since. */
  setBack(key: string, durationMs: number): Promise<void>;
}

export type OnceControlName = keyof OnceControls;
export type OnceCase = SuiteCase<OnceSubject, OnceControlName>;
export type OnceTarget = SuiteTarget<OnceSubject, OnceControlName>;
