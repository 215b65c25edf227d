import { directLink } from '../../coordinators/memory/link.js';
import {
  ClosedError,
  OutcomeUnknownError,
  StoreRefusedError,
  tooLateCode,
  UnreachableError,
} from '../../errors/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import type { MemoryStreams } from './state.js';

/**
 * The network between a store and its `MemoryStreams`, as far as tests want to disturb it; `FaultLink` is one.
 *
 * `carry` calls `deliver` when the message arrives: soon, late, twice or never, but not before `carry` has returned. It
 * answers `false` if the message could not even be sent. A ring of the bell is a reply of `watch`.
 */
export interface MemoryStreamsLink {
  carry(
    message: { readonly direction: 'request' | 'reply'; readonly operation: string },
    deliver: () => void,
  ): boolean;
}

type Answer<Value> = { readonly value: Value } | { readonly error: unknown };

/** One end of the link: sends requests, bounds each by its timeout, and forgets those it gave up. */
export class MemoryStreamsClient {
  readonly #state: MemoryStreams;
  readonly #runtime: Runtime;
  readonly #link: MemoryStreamsLink;
  readonly #giveUps = new Set<(why: string) => void>();
  readonly #subscriptions = new Set<Unsubscribe>();
  #isClosed = false;

  constructor(state: MemoryStreams, runtime: Runtime, link: MemoryStreamsLink = directLink) {
    this.#state = state;
    this.#runtime = runtime;
    this.#link = link;
    this.#subscriptions.add(
      state.on('restart', () => this.#giveUpAll('the connection to the store was lost')),
    );
  }

  /** `whenLate` is the answer to a request that arrives after its deadline; without it the store refuses. */
  call<Value>(
    operation: string,
    timeoutMs: number,
    execute: () => Value,
    whenLate?: () => Value,
  ): Promise<Value> {
    if (this.#isClosed) throw new ClosedError('the memory stream store');
    const notAfterMs = this.#state.elapsedMs() + timeoutMs;
    return new Promise<Value>((resolve, reject) => {
      const settle = (act: () => void) => {
        timer.cancel();
        this.#giveUps.delete(giveUp);
        act();
      };
      const giveUp = (why: string) => settle(() => reject(unknownOutcome(operation, why)));
      const timer = this.#runtime.setTimer(timeoutMs, () =>
        giveUp(`no answer came within ${timeoutMs} ms`),
      );
      this.#giveUps.add(giveUp);
      const wasSent = this.#link.carry({ direction: 'request', operation }, () => {
        const answer = this.#execute(operation, notAfterMs, execute, whenLate);
        this.#link.carry({ direction: 'reply', operation }, () =>
          settle(() => ('error' in answer ? reject(answer.error) : resolve(answer.value))),
        );
      });
      if (!wasSent) settle(() => reject(unreachable(operation)));
    });
  }

  #execute<Value>(
    operation: string,
    notAfterMs: number,
    execute: () => Value,
    whenLate: (() => Value) | undefined,
  ): Answer<Value> {
    try {
      // Nothing runs from the moment on at which the caller may have been told that it is unknown.
      if (this.#state.elapsedMs() < notAfterMs) return { value: execute() };
      if (whenLate !== undefined) return { value: whenLate() };
      return { error: tooLate(operation) };
    } catch (error) {
      return { error };
    }
  }

  watch(wake: (shard: number | undefined) => void): Unsubscribe {
    if (this.#isClosed) throw new ClosedError('the memory stream store');
    let isWatching = true;
    const leave = this.#state.on('bell', (shard) => {
      this.#link.carry({ direction: 'reply', operation: 'watch' }, () => {
        if (isWatching) wake(shard);
      });
    });
    const unsubscribe = () => {
      isWatching = false;
      leave();
      this.#subscriptions.delete(unsubscribe);
    };
    this.#subscriptions.add(unsubscribe);
    return unsubscribe;
  }

  close(): void {
    this.#isClosed = true;
    for (const unsubscribe of [...this.#subscriptions]) unsubscribe();
    this.#giveUpAll('the store was closed meanwhile');
  }

  #giveUpAll(why: string): void {
    for (const giveUp of [...this.#giveUps]) giveUp(why);
  }
}

function unreachable(operation: string): UnreachableError {
  return new UnreachableError(
    `${operation} could not be sent to the memory streams; it was not executed. Try again.`,
  );
}

function unknownOutcome(operation: string, why: string): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${operation} on the memory streams: ${why}. It may have been executed; repeat it, which is harmless.`,
  );
}

function tooLate(operation: string): StoreRefusedError {
  return new StoreRefusedError(
    tooLateCode,
    `${operation} reached the memory streams after its deadline and was not executed. Allow it more time.`,
  );
}
