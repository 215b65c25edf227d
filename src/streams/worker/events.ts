import type { Lease } from '../../leases/index.js';

/** Which message an event is about. */
export interface MessageReference {
  readonly shard: number;
  readonly key: string;
  readonly seq: number;
  readonly id: string;
}

/** What happens to messages. Listeners are called synchronously, after the state has changed. */
export interface PumpEvents {
  /** The store confirmed that these messages are finished: one event per request to the store, not per message. */
  handled: { readonly messageCount: number; readonly shardCount: number };
  /** The handler threw; the same message follows again after `retryInMs`. */
  handlerFailed: MessageReference & {
    readonly attempt: number;
    readonly error: unknown;
    readonly retryInMs: number;
  };
  /**
   * So long (monotonic) handlers have taken, one figure for each attempt at a message: those that returned together, when the
   * store has confirmed some of them or when there are many; one that threw at once. Nothing is measured while nobody listens.
   */
  handlersEnded: {
    readonly outcome: 'handled' | 'failed';
    readonly durationsMs: readonly number[];
  };
  /**
   * A shard has had a message at its head for `stuckMs` and finished none: an alarm. Repeated every time that another
   * `stalledAfterMs` have passed.
   */
  shardStalled: MessageReference & { readonly attempt: number; readonly stuckMs: number };
  /** A lease ended `runningMs` ago and its handler, which ignores the aborted signal, still runs. */
  handlerAbandoned: MessageReference & { readonly term: number; readonly runningMs: number };
  /** A fence or the log has seen a newer owner than this lease, which was ended for it. */
  shardRefused: {
    readonly shard: number;
    readonly lease: Lease;
    readonly by: 'fence' | 'log' | 'handler';
    /** The term that is installed instead, where the refusal tells. */
    readonly installedTerm: number | undefined;
  };
  /**
   * A shard was taken over from an owner whose lease had expired, and so many messages at the head of its log had been
   * appended before that: the former owner may have begun them, or finished them without a trace. Counted once, and
   * only what is read ahead at once; that they were appended before is judged by the clocks of the store and of this process.
   */
  redelivered: { readonly shard: number; readonly term: number; readonly messageCount: number };
  /** The log had lost its state, so this owner installed its term again. Messages may have been lost with the state. */
  logReset: { readonly shard: number; readonly lease: Lease };
  /**
   * Something in this shard's log is not ours, so nothing was read from it: an alarm, repeated with every try. The log is
   * looked at again after `retryInMs`; other shards go on.
   */
  logCorrupt: {
    readonly shard: number;
    readonly lease: Lease;
    /** Where it stands and what to do, for a person. */
    readonly detail: string;
    readonly retryInMs: number;
  };
  /** A request to the stream store failed; the same one follows after `retryInMs`. Nothing was skipped. */
  storeFailed: {
    readonly operation: 'install' | 'step';
    readonly error: unknown;
    readonly retryInMs: number;
  };
}

/** Where the parts of a worker report to. */
export interface PumpEventSink {
  listenerCount(name: keyof PumpEvents): number;
  emit<Name extends keyof PumpEvents>(name: Name, event: PumpEvents[Name]): void;
}
