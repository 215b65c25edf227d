import type { SuiteTarget } from '../../conformance/index.js';
import type { Runtime } from '../../time/index.js';
import type { Coordinator, CoordinatorPromises } from '../contract.js';

/** A coordinator as the conformance suite meets it: what it declares, and how to make a store to try it on. */
export interface ConformanceTarget extends SuiteTarget<ConformanceSubject, ControlName> {
  /** What every client of this target declares. */
  readonly promises: CoordinatorPromises;
}

/** One store under test, with its clients and its time. */
export interface ConformanceSubject {
  /** The clocks by which cases measure, and the source of nonces. */
  readonly runtime: Runtime;
  /**
   * The ttl that cases use. On a real store it costs waiting time, and must still be long against one call: 300 to
   * 500 ms. In virtual time it costs nothing: 30 s.
   */
  readonly ttlMs: number;
  /** The timeout of calls that are expected to be answered; at most half of `ttlMs`. */
  readonly timeoutMs: number;
  /** How much later than its timeout a call may settle, for scheduling alone: 0 in virtual time. */
  readonly timerSlackMs: number;
  readonly controls: Partial<SubjectControls>;

  /** A new client of the same store and namespace, as another process would have. */
  connect(): Promise<Coordinator>;
  /** A name not used before, in a group not used before: `<group>/<last segment>`. */
  newName(): string;
  /** Lets at least `durationMs` pass on the clock that judges expiry. */
  advance(durationMs: number): Promise<void>;
  /** Lets time pass until `promise` settles. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Closes what the case left open, and undoes what its controls did. */
  close(): Promise<void>;
}

/**
 * Ways to break things. Those that take a client disturb that client alone, and last until `heal`.
 *
 * Each resolves when the disturbance is in force.
 */
export interface SubjectControls {
  /** Nothing crosses in either direction, and nobody is told. */
  hang(client: Coordinator): Promise<void>;
  /** Nothing can be sent: connections are refused. */
  cut(client: Coordinator): Promise<void>;
  /** Requests are executed; the answers never arrive. */
  loseReplies(client: Coordinator): Promise<void>;
  /** Requests stay on their way until {@link flushRequests}, even if the client has given them up. */
  holdRequests(client: Coordinator): Promise<void>;
  /** Delivers what was held, and ends the holding. Resolves when the store has executed or refused it. */
  flushRequests(client: Coordinator): Promise<void>;
  /** Each request is executed twice. */
  duplicateRequests(client: Coordinator): Promise<void>;
  /** Ends every disturbance of this client. */
  heal(client: Coordinator): Promise<void>;

  /** Somebody deletes the record of a lease, and nothing else. */
  deleteRecord(name: string): Promise<void>;
  /** Somebody writes a text that is no record in its place. */
  overwriteRecord(name: string, text: string): Promise<void>;
  /** The text that {@link overwriteRecord} wrote, if it still stands there. */
  foreignText(name: string): Promise<string | undefined>;

  restartKeepingData(): Promise<void>;
  restartLosingData(): Promise<void>;
  /** What `during` does is answered, and then forgotten: a fail-over to a replica that had not heard of it. */
  loseTail(during: () => Promise<void>): Promise<void>;
  /** Steps the wall clock the store reads, forward or back. */
  stepClock(stepMs: number): Promise<void>;

  /** How many timers, sockets and calls the clients of this subject have open. */
  pendingCount(): Promise<number>;
}

export type ControlName = keyof SubjectControls;
