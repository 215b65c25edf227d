import type { SuiteTarget } from '../../conformance/index.js';
import type { Runtime } from '../../time/index.js';
import type { StreamPromises, StreamStore } from '../contract.js';

/** A stream store as the conformance suite meets it: what it declares, and how to make one to try it on. */
export interface StreamTarget extends SuiteTarget<StreamSubject, StreamControlName> {
  /** What every client of this target declares. */
  readonly promises: StreamPromises;
}

/** One topic under test, with its clients and its time. */
export interface StreamSubject {
  /** The clocks by which cases measure, and the source of nonces. */
  readonly runtime: Runtime;
  /** The timeout of calls that are expected to be answered. Waiting for one costs real time on a real store. */
  readonly timeoutMs: number;
  /** How much later than its timeout a call may settle, for scheduling alone: 0 in virtual time. */
  readonly timerSlackMs: number;
  /** The largest payload that the target's stores take, in bytes; from 100 KiB. */
  readonly largestPayloadBytes: number;
  readonly controls: Partial<StreamControls>;

  /** A new client of the same topic, as another process would have. It remembers ids for a minute at least. */
  connect(): Promise<StreamStore>;
  /** Lets at least `durationMs` pass on the clock of the store. */
  advance(durationMs: number): Promise<void>;
  /** Lets time pass until `promise` settles. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Closes what the case left open, and undoes what its controls did. */
  close(): Promise<void>;
}

/**
 * Ways to break things. Those that take a store disturb that client alone, and last until `heal`. Each resolves when
 * the disturbance is in force.
 */
export interface StreamControls {
  /** Nothing crosses in either direction, and nobody is told. */
  hang(store: StreamStore): Promise<void>;
  /** Requests are executed; the answers never arrive. */
  loseReplies(store: StreamStore): Promise<void>;
  /** Requests stay on their way until {@link flushRequests}, even if the client has given them up. */
  holdRequests(store: StreamStore): Promise<void>;
  /** Delivers what was held, and ends the holding. Resolves when the store has executed or refused it. */
  flushRequests(store: StreamStore): Promise<void>;
  /** Each request is executed twice. */
  duplicateRequests(store: StreamStore): Promise<void>;
  /** Ends every disturbance of this client. */
  heal(store: StreamStore): Promise<void>;

  /** Somebody else appends something of their own to a log. Resolves to how to remove it. */
  appendForeign(shard: number): Promise<() => Promise<void>>;
  /** Somebody else writes over what a log knows about its owner and its keys. Resolves to how to undo it. */
  overwriteState(shard: number): Promise<() => Promise<void>>;

  restartKeepingData(): Promise<void>;
  restartLosingData(): Promise<void>;
  /** Steps the wall clock the store reads, forward or back. */
  stepClock(stepMs: number): Promise<void>;
}

export type StreamControlName = keyof StreamControls;
