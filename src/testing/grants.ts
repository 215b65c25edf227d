import type { Coordinator, Holder } from '../coordinators/index.js';

/** A lease as it was granted. */
export interface Grant {
  readonly name: string;
  readonly holder: Holder;
  readonly term: number;
}

/** The last grant of each name, by whichever of the coordinators that share this: only its holder may end a lease. */
export class Grants {
  readonly #last = new Map<string, Grant>();

  note(grant: Grant): void {
    this.#last.set(grant.name, grant);
  }

  of(name: string): Grant | undefined {
    return this.#last.get(name);
  }

  /** Ends the lease in the store, as its ttl would. `false`: there is none of ours. */
  async expire(coordinator: Coordinator, name: string, timeoutMs: number): Promise<boolean> {
    const grant = this.of(name);
    if (grant === undefined) return false;
    const [ended] = await coordinator.release([{ ...grant, reason: 'expired' }], { timeoutMs });
    return ended?.outcome === 'ended';
  }

  /** Ends the lease in the store so that nobody but the holder id `to` may have the name next. */
  async reserve(
    coordinator: Coordinator,
    name: string,
    to: string,
    timeoutMs: number,
  ): Promise<void> {
    const grant = this.of(name);
    if (grant === undefined) return;
    await coordinator.handoff([{ ...grant, to, reserveMs: timeoutMs }], { timeoutMs });
  }
}
