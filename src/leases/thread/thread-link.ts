import { ClosedError, OptionError, UnreachableError } from '../../errors/index.js';
import { type Runtime, withDeadline } from '../../time/index.js';
import type { FromThread, ThreadStart, ToThread } from './messages.js';
import { fromWire } from './wire-error.js';

/** A thread that was started. */
export interface RunningThread {
  post(message: ToThread): void;
  /** Asks it to end, and ends it if it does not. Resolves when it is gone. */
  close(): Promise<void>;
}

export interface ThreadListener {
  heard(message: FromThread): void;
  /** It is gone, for whatever reason. */
  ended(error: Error): void;
}

/** @throws if it cannot even be begun. */
export type StartThread = (start: ThreadStart, listener: ThreadListener) => RunningThread;

/** Loading a store's module and its client takes a tenth of this even on a slow machine. */
const startLimitMs = 10_000;

/** One renewing thread as the main thread sees it, from its start to its end. */
export class ThreadLink {
  /**
   * Resolves when it renews. Rejects with an `OptionError` if the coordinator's recipe makes none there, and with an
   * `UnreachableError` if it ended before, or takes too long.
   */
  readonly ready: Promise<void>;
  readonly #listener: ThreadListener;
  #thread: RunningThread | undefined;
  #state: 'starting' | 'ready' | 'closing' | 'ended' = 'starting';
  #settle: { resolve(): void; reject(error: unknown): void } | undefined;

  /** @param listener hears that it ended once, and only if nobody closed it. */
  constructor(
    runtime: Runtime,
    startThread: StartThread,
    start: ThreadStart,
    listener: ThreadListener,
  ) {
    this.#listener = listener;
    const readiness = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.ready = withDeadline(runtime, startLimitMs, 'the start of a thread', readiness).catch(
      (error) => this.#startFailed(error),
    );
    // Whoever asks for it hears of the failure; it may be that nobody does.
    this.ready.catch(() => undefined);
    try {
      this.#thread = startThread(start, {
        heard: (message) => this.#heard(message),
        ended: (error) => this.#ended(error),
      });
    } catch (error) {
      // Not before the constructor has returned: the listener knows this link by its value.
      queueMicrotask(() => this.#ended(error));
    }
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Goes nowhere if the thread has ended. */
  post(message: ToThread): void {
    if (!this.hasEnded) this.#thread?.post(message);
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    if (!this.hasEnded) this.#state = 'closing';
    this.#settle?.reject(new ClosedError('the set of leases'));
    await this.#thread?.close();
  }

  #heard(message: FromThread): void {
    if (message.type === 'ready') {
      if (this.#state === 'starting') this.#state = 'ready';
      this.#settle?.resolve();
    } else if (message.type === 'refused') {
      this.#settle?.reject(recipeRefused(fromWire(message.error)));
    } else if (this.#state !== 'closing') {
      this.#listener.heard(message);
    }
  }

  #ended(cause: unknown): void {
    const wasWanted = this.#state === 'closing';
    this.#state = 'ended';
    this.#settle?.reject(cause);
    if (!wasWanted) this.#listener.ended(threadEnded(cause));
  }

  async #startFailed(cause: unknown): Promise<never> {
    if (cause instanceof ClosedError || cause instanceof OptionError) throw cause;
    if (!this.hasEnded) {
      void this.close();
      this.#listener.ended(threadEnded(cause));
    }
    throw threadEnded(cause);
  }
}

function recipeRefused({ message }: Error): OptionError {
  const problem = `makes no coordinator in a thread: ${message}`;
  return new OptionError(
    'coordinator.recipe',
    'hidden',
    problem,
    "use renewFrom: 'main', or mend it",
  );
}

function threadEnded(cause: unknown): UnreachableError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnreachableError(
    `the thread that renews leases is not there: ${reason.replace(/\.$/, '')}. Leases that it renewed are lost at their deadlines; the next acquisition starts a new one.`,
    cause,
  );
}
