import { StoreRefusedError, UnreachableError } from '../errors/index.js';
import { type Aftermath, InterruptedError } from './exit-status.js';

/** What a command has asked a store to do, for whoever stops it meanwhile: it may be known to be done, or be open. */
export class PendingAct {
  readonly #signal: AbortSignal;
  #named: { readonly what: string; readonly look: string } | undefined;
  #state: 'unsent' | 'open' | 'done' = 'unsent';

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @param what such as `the suspend of payments`. @param look the command that shows whether it was done. */
  announce(what: string, look: string): void {
    this.#named = { what, look };
  }

  /** Asks the store for it, unless somebody has stopped the command. */
  async ask<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    this.#signal.throwIfAborted();
    const before = this.#state;
    this.#state = 'open';
    try {
      const answer = await request();
      this.#state = 'done';
      return answer;
    } catch (error) {
      const isNotDone = error instanceof UnreachableError || error instanceof StoreRefusedError;
      if (isNotDone) this.#state = before;
      throw error;
    }
  }

  /** It was seen to be done. */
  confirm(): void {
    this.#state = 'done';
  }

  /** The error; if somebody has stopped the command, with what is known of the act. */
  told(error: unknown): unknown {
    if (!(error instanceof InterruptedError) || this.#named === undefined) return error;
    return new InterruptedError(error.signal, this.#aftermath(this.#named));
  }

  #aftermath({ what, look }: { what: string; look: string }): Aftermath {
    switch (this.#state) {
      case 'unsent':
        return { words: 'nothing was done' };
      case 'open':
        return { words: `${what} was asked for, and may have been done`, next: look };
      case 'done':
        return { words: `${what} stands`, next: look };
    }
  }
}
