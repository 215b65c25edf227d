import { InterruptedError } from '../exit-status.js';
import { type PassedSignal, passedSignals } from './passed-signals.js';

/** Whether it asks a program to end. A program may take SIGHUP for "read your settings again". */
export function asksToEnd(signal: PassedSignal): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGQUIT';
}

/** Whether it ends us while there is no child that could decide what it means. */
export function endsWaiting(signal: PassedSignal): boolean {
  return asksToEnd(signal) || signal === 'SIGHUP';
}

type SignalSource = Pick<NodeJS.EventEmitter, 'on' | 'off'>;

/**
 * Catches the signals until {@link stop}, and passes each to whoever is responsible at the time. None that would end us is
 * lost between two of them: it is kept for the next.
 */
export class Signals {
  readonly #source: SignalSource;
  #receiver: ((signal: PassedSignal) => void) | undefined;
  #kept: PassedSignal | undefined;
  #isToldToEnd = false;
  readonly #listener = (signal: NodeJS.Signals) => this.#hear(signal as PassedSignal);

  constructor(source: SignalSource = process) {
    this.#source = source;
    for (const signal of passedSignals) source.on(signal, this.#listener);
  }

  /** Whether anybody has ever asked for an end, whoever was responsible then. */
  get isToldToEnd(): boolean {
    return this.#isToldToEnd;
  }

  /** From now on `receiver` is responsible: also for what was kept, which it hears in this call. */
  passTo(receiver: (signal: PassedSignal) => void): void {
    this.#receiver = receiver;
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept !== undefined) receiver(kept);
  }

  /** Nobody is responsible until the next {@link passTo}. */
  keep(): void {
    this.#receiver = undefined;
  }

  /** Makes a wait responsible: it is to end when the answer aborts, with an {@link InterruptedError}. */
  passToWait(): AbortSignal {
    const stopping = new AbortController();
    this.passTo((signal) => {
      // What SIGUSR1 and SIGUSR2 mean is for the child to say, and there is none.
      if (endsWaiting(signal)) stopping.abort(new InterruptedError(signal));
    });
    return stopping.signal;
  }

  /** Signals have their usual effect again. */
  stop(): void {
    for (const signal of passedSignals) this.#source.off(signal, this.#listener);
  }

  #hear(signal: PassedSignal): void {
    const isForUs = this.#receiver === undefined && endsWaiting(signal);
    this.#isToldToEnd ||= isForUs || asksToEnd(signal);
    if (isForUs) this.#kept = signal;
    this.#receiver?.(signal);
  }
}
