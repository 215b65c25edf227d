import type { Coordinator, HandoffRequest, ReleaseRequest } from '../coordinators/index.js';
import { elapsedMs, type Runtime, type Timer } from '../time/index.js';
import { withDeadline } from './deadline.js';
import type { Lease } from './lease.js';
import { TurnBatch } from './turn-batch.js';

/**
 * What still has to be said to the store after a lease has ended, or an acquisition came to nothing.
 *
 * All of it is best effort, conditional ("if it is still mine") and never throws: a store that does not hear it lets
 * the lease expire. A *lost* lease is not given back at once, since its work may need the rest of the ttl to stop: that
 * happens when the work says it has stopped, or at the latest when the store would have let the lease expire anyway
 * (a renewal that was executed late may have extended it).
 */
export class Afterlife {
  readonly #runtime: Runtime;
  readonly #coordinator: Coordinator;
  readonly #later = new Map<Lease, Timer>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #releases = new Map<number, TurnBatch<ReleaseRequest, void>>();

  constructor(runtime: Runtime, coordinator: Coordinator) {
    this.#runtime = runtime;
    this.#coordinator = coordinator;
  }

  /** As {@link release}; what is released in one turn travels in one request. */
  releaseOne(request: ReleaseRequest, timeoutMs: number): Promise<void> {
    let batch = this.#releases.get(timeoutMs);
    if (batch === undefined) {
      batch = new TurnBatch(nameOf, async (requests) => {
        await this.release(requests, timeoutMs);
        return [];
      });
      this.#releases.set(timeoutMs, batch);
    }
    return batch.add(request);
  }

  async release(requests: readonly ReleaseRequest[], timeoutMs: number): Promise<void> {
    if (requests.length === 0) return;
    await this.#attempt(timeoutMs, 'a release', () =>
      this.#coordinator.release(requests, { timeoutMs }),
    );
  }

  /** For each request, whether the store confirmed it. */
  async handoff(requests: readonly HandoffRequest[], timeoutMs: number): Promise<boolean[]> {
    if (requests.length === 0) return [];
    const results = await this.#attempt(timeoutMs, 'a handoff', () =>
      this.#coordinator.handoff(requests, { timeoutMs }),
    );
    return requests.map((_, index) => results?.[index]?.outcome === 'ended');
  }

  letGoLater(lease: Lease): void {
    const delayMs = lease.timing.ttlMs - elapsedMs(lease.anchor, this.#runtime.now());
    const timer = this.#runtime.setTimer(Math.max(0, delayMs), () => this.letGoNow(lease), {
      keepsProcessAlive: false,
    });
    this.#later.set(lease, timer);
  }

  letGoNow(lease: Lease): void {
    const timer = this.#later.get(lease);
    if (timer === undefined) return;
    timer.cancel();
    this.#later.delete(lease);
    const { name, holder, term } = lease;
    void this.release([{ name, holder, term }], lease.timing.attemptTimeoutMs);
  }

  /**
   * Waits until everything under way is over. What was to be said later is not said: nobody has told us that the work
   * of those leases has stopped, so they are left to expire.
   */
  async close(): Promise<void> {
    for (const timer of this.#later.values()) timer.cancel();
    this.#later.clear();
    await Promise.all(this.#running);
  }

  /** `undefined` if the store did not answer, whichever way it failed. */
  async #attempt<T>(
    timeoutMs: number,
    what: string,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    const bounded = (async () => withDeadline(this.#runtime, timeoutMs * 2, what, call()))().catch(
      () => undefined,
    );
    this.#running.add(bounded);
    const result = await bounded;
    this.#running.delete(bounded);
    return result;
  }
}

function nameOf({ name }: ReleaseRequest): string {
  return name;
}
