import {
  ClosedError,
  type OutcomeUnknownError,
  StoreRefusedError,
  tooLateCode,
  type UnreachableError,
} from '../../errors/index.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import type { MemoryLink } from './link.js';

export interface MemoryCallerOptions {
  /** For messages, e.g. `memory store`. */
  readonly what: string;
  readonly runtime: Runtime;
  readonly link: MemoryLink;
  /** The clock of the state, in milliseconds. */
  readonly nowMs: () => number;
}

/**
 * One end of a link: sends requests, bounds each by its timeout, and forgets those it gave up.
 *
 * A request carries a "not after" on the state's clock. The state refuses it from that moment on, and that is the moment
 * the caller stops waiting: nothing runs after its caller was told that it is unknown.
 */
export class MemoryCaller {
  readonly #options: MemoryCallerOptions;
  readonly #giveUps = new Set<(why: string) => void>();
  readonly #subscriptions = new Set<Unsubscribe>();
  #isClosed = false;

  constructor(options: MemoryCallerOptions) {
    this.#options = options;
  }

  /** `whenLate` is the answer to a request that comes too late to be executed; without it the state refuses. */
  call<Answer>(
    operation: string,
    timeoutMs: number,
    execute: () => Answer,
    whenLate?: () => Answer,
  ): Promise<Answer> {
    this.throwIfClosed();
    const { runtime, link, nowMs } = this.#options;
    const notAfterMs = nowMs() + timeoutMs;
    return new Promise<Answer>((resolve, reject) => {
      const settle = (act: () => void) => {
        timer.cancel();
        this.#giveUps.delete(giveUp);
        act();
      };
      const giveUp = (why: string) => settle(() => reject(this.#unknown(operation, why)));
      const timer = runtime.setTimer(timeoutMs, () =>
        giveUp(`no answer came within ${Math.round(timeoutMs)} ms`),
      );
      this.#giveUps.add(giveUp);
      const wasSent = link.carry({ direction: 'request', operation }, () => {
        const answer = this.#execute(operation, notAfterMs, execute, whenLate);
        link.carry({ direction: 'reply', operation }, () =>
          settle(() => ('error' in answer ? reject(answer.error) : resolve(answer.value))),
        );
      });
      if (!wasSent) settle(() => reject(this.#unreachable(operation)));
    });
  }

  #execute<Answer>(
    operation: string,
    notAfterMs: number,
    execute: () => Answer,
    whenLate: (() => Answer) | undefined,
  ): { readonly value: Answer } | { readonly error: unknown } {
    try {
      const lateMs = this.#options.nowMs() - notAfterMs;
      if (lateMs < 0) return { value: execute() };
      return whenLate === undefined
        ? { error: this.#tooLate(operation, lateMs) }
        : { value: whenLate() };
    } catch (error) {
      return { error };
    }
  }

  /** Carries what `subscribe` tells to `listener` over the link, until unsubscribed or closed. */
  listen<Value>(
    subscribe: (told: (value: Value) => void) => Unsubscribe,
    listener: (value: Value) => void,
  ): Unsubscribe {
    this.throwIfClosed();
    // Isolated: a listener that throws must not reach the microtask that delivers.
    let isHeard = true;
    const told = isolated('watch', listener);
    const leave = subscribe((value) => {
      this.#options.link.carry({ direction: 'reply', operation: 'watch' }, () => {
        if (isHeard) told(value);
      });
    });
    return this.#keep(() => {
      isHeard = false;
      leave();
    });
  }

  /** Takes a subscription along when this is closed. */
  attach(subscribe: () => Unsubscribe): Unsubscribe {
    this.throwIfClosed();
    return this.#keep(subscribe());
  }

  #keep(leave: Unsubscribe): Unsubscribe {
    const unsubscribe = () => {
      leave();
      this.#subscriptions.delete(unsubscribe);
    };
    this.#subscriptions.add(unsubscribe);
    return unsubscribe;
  }

  /** The outcome of every call under way is unknown from now on. */
  giveUpAll(why: string): void {
    for (const giveUp of [...this.#giveUps]) giveUp(why);
  }

  close(): void {
    this.#isClosed = true;
    for (const unsubscribe of [...this.#subscriptions]) unsubscribe();
    this.giveUpAll('it was closed meanwhile');
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError(`this client of the ${this.#options.what}`);
  }

  #unreachable(operation: string): UnreachableError {
    return unreachable(
      'unreachable',
      `${operation} could not be sent to the ${this.#options.what}; it was not executed. Try again.`,
    );
  }

  #unknown(operation: string, why: string): OutcomeUnknownError {
    return outcomeUnknown(
      'timeout',
      `${operation} on the ${this.#options.what}: ${why}. It may have been executed; ask, or repeat it, before relying on either.`,
    );
  }

  #tooLate(operation: string, lateMs: number): StoreRefusedError {
    return new StoreRefusedError(
      tooLateCode,
      `${operation} reached the ${this.#options.what} ${Math.round(lateMs)} ms after its deadline and was not executed. Allow it more time.`,
    );
  }
}
