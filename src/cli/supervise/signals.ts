/** Those that a supervisor or a person sends to a program, and that its program would get without us. */
export const passedSignals = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
] as const satisfies NodeJS.Signals[];

export type PassedSignal = (typeof passedSignals)[number];

/** Whether it asks a program to end. A program may take SIGHUP for "read your settings again". */
export function asksToEnd(signal: PassedSignal): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGQUIT';
}

/** Whether it ends us while there is no child that could decide what it means. */
export function endsWaiting(signal: PassedSignal): boolean {
  return asksToEnd(signal) || signal === 'SIGHUP';
}

/** Catches the signals until {@link stop}, and passes each to whoever is responsible at the time. */
export class Signals {
  #receiver: (signal: PassedSignal) => void = () => {};
  #isToldToEnd = false;
  readonly #listener = (signal: NodeJS.Signals) => {
    const passed = signal as PassedSignal;
    this.#isToldToEnd ||= asksToEnd(passed);
    this.#receiver(passed);
  };

  constructor() {
    for (const signal of passedSignals) process.on(signal, this.#listener);
  }

  /** Whether anybody has ever asked for an end, whoever was responsible then. */
  get isToldToEnd(): boolean {
    return this.#isToldToEnd;
  }

  passTo(receiver: (signal: PassedSignal) => void): void {
    this.#receiver = receiver;
  }

  /** Signals have their usual effect again. */
  stop(): void {
    for (const signal of passedSignals) process.off(signal, this.#listener);
  }
}
