import type { Coordinator } from '../coordinators/index.js';
import type { Unsubscribe } from '../events/index.js';
import type { Runtime } from '../time/index.js';
import type { ResolvedTiming } from './options.js';
import type { Renewable, Renewal } from './renewal.js';
import { type RenewalReport, Renewer } from './renewer.js';

/**
 * Renews leases of any timing from the thread that it lives in, over one coordinator.
 *
 * There is one {@link Renewer} for each limit of requests: a hung renewal of long leases must not hold up that of short
 * ones.
 */
export class Renewers<Member extends Renewable> implements Renewal<Member> {
  readonly #runtime: Runtime;
  readonly #coordinator: Coordinator;
  readonly #onAttempt: (report: RenewalReport) => void;
  readonly #renewers = new Map<number, Renewer<Member>>();
  readonly #stopListening: Unsubscribe;

  constructor(
    runtime: Runtime,
    coordinator: Coordinator,
    onAttempt: (report: RenewalReport) => void,
  ) {
    this.#runtime = runtime;
    this.#coordinator = coordinator;
    this.#onAttempt = onAttempt;
    this.#stopListening = coordinator.onConnectionLost(() => {
      for (const lease of this.leases) lease.apply({ type: 'connection-lost' });
    });
  }

  get leases(): Member[] {
    return [...this.#renewers.values()].flatMap(({ leases }) => [...leases]);
  }

  add(lease: Member): void {
    this.#of(lease.timing).add(lease);
  }

  remove(lease: Member): void {
    this.#of(lease.timing).remove(lease);
  }

  demand(lease: Member): void {
    this.#of(lease.timing).demand();
  }

  async close(): Promise<void> {
    this.#stopListening();
    for (const renewer of this.#renewers.values()) renewer.close();
  }

  #of({ attemptTimeoutMs }: ResolvedTiming): Renewer<Member> {
    let renewer = this.#renewers.get(attemptTimeoutMs);
    if (renewer === undefined) {
      renewer = new Renewer(this.#runtime, this.#coordinator, this.#onAttempt);
      this.#renewers.set(attemptTimeoutMs, renewer);
    }
    return renewer;
  }
}
