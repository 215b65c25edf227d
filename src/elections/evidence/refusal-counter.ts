import type { Lease } from '../../leases/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import type { RefusalEvidence } from './evidence.js';

/** An owner that does not stop is refused all the time: what follows the first is told once in so long. */
const tellEveryMs = 10_000;

/** Counts what fences refused, for each lease and kind of resource, and tells it: the first at once, what follows gathered. */
export class RefusalCounter {
  readonly #runtime: Runtime;
  readonly #tell: (counted: RefusalEvidence) => void;
  readonly #counted = new WeakMap<Lease, Map<string, RefusalEvidence>>();
  /** What was counted and has not been told, by whom it is about. */
  readonly #untold = new Map<Lease, Set<string>>();
  #timer: Timer | undefined;

  constructor(runtime: Runtime, tell: (counted: RefusalEvidence) => void) {
    this.#runtime = runtime;
    this.#tell = tell;
  }

  add(lease: Lease, resource: string): void {
    const counted = this.#counted.get(lease) ?? new Map<string, RefusalEvidence>();
    this.#counted.set(lease, counted);
    const before = counted.get(resource);
    const atMs = Math.round(this.#runtime.now().wallMs);
    const { name, term, holder } = lease;
    counted.set(resource, {
      kind: 'refusals',
      ...{ name, term, holderId: holder.id, resource },
      firstAtMs: before?.firstAtMs ?? atMs,
      atMs,
      count: (before?.count ?? 0) + 1,
    });
    this.#untold.set(lease, (this.#untold.get(lease) ?? new Set()).add(resource));
    if (before === undefined) this.flush();
    else this.#timer ??= this.#later();
  }

  /** Tells all that has not been told, and leaves no timer. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [lease, resources] of this.#untold)
      for (const resource of resources) {
        const counted = this.#counted.get(lease)?.get(resource);
        if (counted !== undefined) this.#tell(counted);
      }
    this.#untold.clear();
  }

  #later(): Timer {
    return this.#runtime.setTimer(tellEveryMs, () => this.flush(), { keepsProcessAlive: false });
  }
}
