import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { type Known, requireInstance, requireKnown } from '../../errors/checks.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Call } from '../candidates.js';
import type { Coordinator } from '../contract.js';
import type { Holder } from '../holder.js';
import { checkGroup, checkHolder } from '../requests.js';
import { LedgerCoordinator, type LedgerStep } from '../rules/ledger-coordinator.js';
import { memoryPromises } from './promises.js';
import { MemoryStore } from './store.js';

export interface MemoryCoordinatorOptions {
  /** This client's own clocks and timers; they bound its calls. Default: those of the store. */
  readonly runtime?: Runtime;
  /** The network to the store. Default: everything arrives, two microtasks later. */
  readonly link?: MemoryLink;
}

export interface MemoryCoordinatorEvents {
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what is wrong with its records. */
export interface MemoryCoordinator extends Coordinator, EventSource<MemoryCoordinatorEvents> {}

const optionKeys: Known<MemoryCoordinatorOptions> = { runtime: true, link: true };

/**
 * A coordinator in the memory of this process: for tests, simulations and programs that are one process.
 *
 * Coordinators that share a `store` exclude each other, as processes that share a server do. Without one, a store of its
 * own is made, which nobody else can see. It excludes nobody in another process.
 *
 * Calls may be made concurrently. After `close()` they reject with `ClosedError`; a call that was under way rejects with
 * `OutcomeUnknownError`. A request that reaches the store after its deadline is refused: `too-late` for an acquire,
 * `StoreRefusedError` otherwise.
 */
export function memoryCoordinator(
  store: MemoryStore = new MemoryStore(),
  options: MemoryCoordinatorOptions = {},
): MemoryCoordinator {
  return new StoreCoordinator(store, options);
}

class StoreCoordinator extends LedgerCoordinator implements MemoryCoordinator {
  readonly promises = memoryPromises;
  readonly #store: MemoryStore;
  readonly #caller: MemoryCaller;
  readonly #events = new Emitter<MemoryCoordinatorEvents>({ corrupt: true });

  constructor(store: MemoryStore, options: MemoryCoordinatorOptions) {
    super();
    requireInstance('store', store, MemoryStore);
    requireKnown('options', options, optionKeys);
    this.#store = store;
    this.#caller = new MemoryCaller({
      what: 'memory store',
      runtime: requireRuntime(options.runtime ?? store.runtime),
      link: requireLink(options.link),
      nowMs: () => store.elapsedMs(),
    });
    this.#caller.attach(() =>
      store.onConnectionLost(() => this.#caller.giveUpAll('the connection to the store was lost')),
    );
  }

  on<Name extends keyof MemoryCoordinatorEvents>(
    name: Name,
    listener: (event: MemoryCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  protected override tellCorrupt(name: string, detail: string): void {
    this.#events.emit('corrupt', { name, detail });
  }

  protected override run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    const { operation, timeoutMs, whenLate } = step;
    const execute = () => {
      const nowMs = this.#store.expire();
      try {
        return step.execute(this.#store, nowMs);
      } finally {
        this.#store.followDeadlines();
      }
    };
    return this.#caller.call(operation, timeoutMs, execute, whenLate);
  }

  protected override throwIfClosed(): void {
    this.#caller.throwIfClosed();
  }

  override watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    const checked = checkGroup(group);
    return this.#caller.listen<string | undefined>(
      (told) => this.#store.watch(checked, told),
      wake,
    );
  }

  override onConnectionLost(lost: () => void): Unsubscribe {
    return this.#caller.attach(() => this.#store.onConnectionLost(lost));
  }

  override onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    checkHolder(holder);
    return this.#caller.listen<Call>((told) => this.#store.onCalled(holder, told), called);
  }

  override async close(): Promise<void> {
    this.#caller.close();
    this.#events.removeAll();
  }
}
