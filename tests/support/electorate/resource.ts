import { Witness } from '../witness.js';

export interface Writer {
  readonly term: number;
  readonly id: string;
  readonly digest: string;
}

/**
 * What the leaders write to. It compares terms as a fence does, with code of its own: a higher term is let in, or the same
 * one from the same incarnation. Whatever was tried is kept for the witness.
 */
export class GuardedResource {
  readonly witness = new Witness(Date.now);
  readonly #isFenced: boolean;
  #installed: Pick<Writer, 'term' | 'digest'> = { term: 0, digest: '' };
  #waiters: { readonly term: number; readonly resolve: () => void }[] = [];

  /** @param isFenced `false`: it accepts everything. */
  constructor(isFenced: boolean) {
    this.#isFenced = isFenced;
  }

  /** Returns whether it is accepted. */
  take({ term, id, digest }: Writer): boolean {
    const wasAccepted = !this.#isFenced || this.#mayWrite(term, digest);
    if (wasAccepted) this.#installed = { term, digest };
    this.witness.record({ term, holder: { id, digest } }, wasAccepted);
    if (wasAccepted) this.#tellWaiters(term);
    return wasAccepted;
  }

  /** Resolves when a write of this term, or a later one, has been accepted. */
  written(term: number): Promise<void> {
    if (this.witness.accepted.some((attempt) => attempt.term >= term)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ term, resolve });
    });
  }

  #mayWrite(term: number, digest: string): boolean {
    const { term: highest, digest: of } = this.#installed;
    return term > highest || (term === highest && digest === of);
  }

  #tellWaiters(term: number): void {
    const served = this.#waiters.filter((waiter) => waiter.term <= term);
    this.#waiters = this.#waiters.filter((waiter) => !served.includes(waiter));
    for (const { resolve } of served) resolve();
  }
}
