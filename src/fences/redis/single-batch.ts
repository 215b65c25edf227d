import type { RedisBatch } from './batch.js';
import { type Failure, notConfirmed } from './failures.js';
import type { Single, SingleCommand } from './gathering.js';

export interface SingleOutcome {
  resolve(isExecuted: true): void;
  reject(error: Error): void;
  refuse(failure: Failure): void;
  /** By the whole script. */
  anew(): void;
  /** That the name is installed. */
  remember(): void;
}

/** A batch of one command that travels with others. */
export class SingleBatch implements Single {
  readonly command: SingleCommand;
  readonly title: string;
  readonly #batch: RedisBatch;
  readonly #outcome: SingleOutcome;

  constructor(command: SingleCommand, title: string, batch: RedisBatch, outcome: SingleOutcome) {
    this.command = command;
    this.title = title;
    this.#batch = batch;
    this.#outcome = outcome;
  }

  done(reply: unknown, shortfall: Promise<string | undefined> | undefined): void {
    this.#outcome.remember();
    if (shortfall === undefined) this.#confirmed(reply);
    else void this.#whenConfirmed(reply, shortfall);
  }

  async #whenConfirmed(reply: unknown, shortfall: Promise<string | undefined>): Promise<void> {
    const missing = await shortfall;
    if (missing === undefined) this.#confirmed(reply);
    else this.#outcome.reject(notConfirmed(this.title, missing));
  }

  #confirmed(reply: unknown): void {
    this.#batch.answerFirst(reply);
    this.#outcome.resolve(true);
  }

  refused(words: unknown): void {
    this.#outcome.refuse({ title: this.title, batch: this.#batch, place: 1, words });
  }

  judgeAnew(): void {
    this.#outcome.anew();
  }

  failed(error: Error): void {
    this.#outcome.reject(error);
  }
}
