import {
  ClosedError,
  OutcomeUnknownError,
  StoreRefusedError,
  tooLateCode,
  UnreachableError,
} from '../../errors/index.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import type { LinkOperation, MemoryLink } from './link.js';
import type { MemoryStore } from './store.js';
import type { Wake } from './watchers.js';

/** The names to wake that an execution left free are pushed to `freed`. */
export type Execute<Answer> = (nowMs: number, freed: string[]) => Answer;

/**
 * One end of a link: sends requests, bounds each by its timeout, and forgets those it gave up.
 *
 * A request carries a "not after" on the store's clock. The store refuses it from that moment on, and that is the moment
 * the caller stops waiting: nothing runs after its caller was told that it is unknown.
 */
export class MemoryClient {
  readonly #store: MemoryStore;
  readonly #runtime: Runtime;
  readonly #link: MemoryLink;
  readonly #giveUps = new Set<() => void>();
  readonly #watches = new Set<Unsubscribe>();
  #isClosed = false;

  constructor(store: MemoryStore, runtime: Runtime, link: MemoryLink) {
    this.#store = store;
    this.#runtime = runtime;
    this.#link = link;
  }

  /** `whenLate` is the answer to a request that comes too late to be executed; without it the store refuses. */
  call<Answer>(
    operation: LinkOperation,
    timeoutMs: number,
    execute: Execute<Answer>,
    whenLate?: () => Answer,
  ): Promise<Answer> {
    this.throwIfClosed();
    const notAfterMs = this.#store.elapsedMs() + timeoutMs;
    return new Promise<Answer>((resolve, reject) => {
      const settle = (act: () => void) => {
        timer.cancel();
        this.#giveUps.delete(giveUp);
        act();
      };
      const giveUp = () =>
        settle(() => reject(unknownOutcome(operation, `the coordinator was closed meanwhile`)));
      const timer = this.#runtime.setTimer(timeoutMs, () =>
        settle(() => reject(unknownOutcome(operation, `no answer came within ${timeoutMs} ms`))),
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

  #execute<Answer>(
    operation: LinkOperation,
    notAfterMs: number,
    execute: Execute<Answer>,
    whenLate: (() => Answer) | undefined,
  ): { readonly value: Answer } | { readonly error: unknown } {
    const nowMs = this.#store.expire();
    const freed: string[] = [];
    try {
      if (nowMs < notAfterMs) return { value: execute(nowMs, freed) };
      if (whenLate !== undefined) return { value: whenLate() };
      return { error: tooLate(operation, nowMs - notAfterMs) };
    } catch (error) {
      return { error };
    } finally {
      this.#store.changed(freed);
    }
  }

  watch(group: string, wake: Wake): Unsubscribe {
    this.throwIfClosed();
    // An emitter per watch: what `wake` throws must reach neither the link nor another watch.
    const emitter = new Emitter<{ wake: string | undefined }>();
    const silence = emitter.on('wake', wake);
    const leave = this.#store.watch(group, (name) => {
      this.#link.carry({ direction: 'reply', operation: 'watch' }, () =>
        emitter.emit('wake', name),
      );
    });
    const unsubscribe = () => {
      silence();
      leave();
      this.#watches.delete(unsubscribe);
    };
    this.#watches.add(unsubscribe);
    return unsubscribe;
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    this.throwIfClosed();
    const leave = this.#store.onConnectionLost(lost);
    const unsubscribe = () => {
      leave();
      this.#watches.delete(unsubscribe);
    };
    this.#watches.add(unsubscribe);
    return unsubscribe;
  }

  close(): void {
    this.#isClosed = true;
    for (const unsubscribe of [...this.#watches]) unsubscribe();
    for (const giveUp of [...this.#giveUps]) giveUp();
  }

  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError('the memory coordinator');
  }
}

function unreachable(operation: LinkOperation): UnreachableError {
  return new UnreachableError(
    `${operation} could not be sent to the memory store; it was not executed. Try again.`,
  );
}

function unknownOutcome(operation: LinkOperation, what: string): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${operation} on the memory store: ${what}. It may have been executed; ask the store before relying on either.`,
  );
}

function tooLate(operation: LinkOperation, lateMs: number): StoreRefusedError {
  return new StoreRefusedError(
    tooLateCode,
    `${operation} reached the memory store ${lateMs} ms after its deadline and was not executed. Try again.`,
  );
}
