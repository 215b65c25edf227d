import { Holder } from '../../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { FaultLink } from '../../../src/drivers/memory/index.js';
import { Lease, type LeaseHost } from '../../../src/leases/lease.js';
import { resolveTiming } from '../../../src/leases/options.js';
import type { RenewalReport } from '../../../src/leases/renewer.js';
import type { FromThread, ThreadStart, ToThread } from '../../../src/leases/thread/messages.js';
import type { ThreadListener } from '../../../src/leases/thread/thread-link.js';
import { ThreadRenewal } from '../../../src/leases/thread/thread-renewal.js';
import { ThreadSide } from '../../../src/leases/thread/thread-side.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

export interface TwoThreadsOptions {
  readonly ttlMs?: number;
  readonly stallLimitMs?: number;
  readonly onStall?: 'lose' | 'exit';
  /** No thread says that it is ready. */
  readonly isSilent?: boolean;
}

/** Time goes on in both threads by so little that neither is ahead by more. */
const stepMs = 5;

/**
 * A process of two threads in virtual time: the main thread with its leases, and the one that renews them. Each can be made
 * to stand still while the other goes on. What one posts arrives when the other turns.
 */
export class TwoThreads {
  readonly main = new VirtualRuntime();
  readonly other = new VirtualRuntime();
  /** On the way from the renewing thread to its store. */
  readonly link = new FaultLink();
  readonly log: string[] = [];
  readonly reports: RenewalReport[] = [];
  readonly renewal: ThreadRenewal;
  readonly store: MemoryStore;
  /** How often the process was told to end. */
  exitCount = 0;
  startCount = 0;
  readonly #options: TwoThreadsOptions;
  readonly #ttlMs: number;
  readonly #holder = new Holder('a', '0'.repeat(32));
  readonly #toThread: ToThread[] = [];
  readonly #toMain: FromThread[] = [];
  #side: ThreadSide | undefined;
  #listener: ThreadListener | undefined;

  constructor(options: TwoThreadsOptions = {}) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? 3_000;
    // Its clock goes on while the main thread stands still.
    this.store = new MemoryStore({ runtime: this.other });
    this.renewal = new ThreadRenewal({
      runtime: this.main,
      settings: {
        recipe: { module: '', factory: '', args: [] },
        stallLimitMs: options.stallLimitMs ?? 60_000,
        onStall: options.onStall ?? 'lose',
      },
      onAttempt: (report) => this.reports.push(report),
      startThread: (start, listener) => this.#start(start, listener),
      endProcess: () => {
        this.exitCount += 1;
      },
    });
  }

  /** Acquired by the main thread, renewed by the other. */
  async acquire(name: string, maxHoldMs?: number): Promise<Lease> {
    const timing = resolveTiming({ ttlMs: this.#ttlMs });
    await this.renewal.ready(timing);
    const sentAt = this.main.now();
    const term = await this.#grantedTo(this.#holder, name);
    const wanted = { name, ...(maxHoldMs !== undefined && { maxHoldMs }) };
    const grant = { wanted, holder: this.#holder, term, timing, sentAt };
    const lease = new Lease(this.#host(), grant);
    this.renewal.add(lease);
    await this.advance(0);
    return lease;
  }

  /** Another process acquires the name, which has to be free. */
  async takeOver(name: string): Promise<number> {
    return this.#grantedTo(new Holder('b', '1'.repeat(32)), name);
  }

  /** An operator ends the present term. */
  async revoke(name: string): Promise<void> {
    const coordinator = memoryCoordinator(this.store, { runtime: this.other });
    await coordinator.revoke(name, { by: 'operator', reason: 'test' }, { timeoutMs: 1_000 });
  }

  /** Both threads run. */
  async advance(durationMs: number): Promise<void> {
    for (let passedMs = 0; passedMs <= durationMs; passedMs += stepMs) {
      const nextMs = Math.min(stepMs, durationMs - passedMs);
      await this.#turnOther(nextMs);
      await this.#turnMain(nextMs);
    }
  }

  /** The main thread stands still, and the test is its first statement after that. */
  async block(durationMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < durationMs; passedMs += stepMs)
      await this.#turnOther(Math.min(stepMs, durationMs - passedMs));
    this.main.freeze(durationMs);
  }

  /** Both stand still, as after SIGSTOP. */
  freeze(durationMs: number): void {
    this.main.freeze(durationMs);
    this.other.freeze(durationMs);
  }

  /** The machine is suspended. */
  suspend(durationMs: number): void {
    this.main.suspend(durationMs);
    this.other.suspend(durationMs);
  }

  stepWall(byMs: number): void {
    this.main.stepWall(byMs);
    this.other.stepWall(byMs);
  }

  /** Somebody else's store client, in nobody's way. */
  async recordOf(name: string) {
    const coordinator = memoryCoordinator(this.store, { runtime: this.other });
    const [record] = await coordinator.read([name], { timeoutMs: 1_000 });
    return record;
  }

  /** The renewing thread ends in the middle of everything. */
  async crash(error: Error): Promise<void> {
    await this.#side?.close();
    this.#side = undefined;
    this.#toMain.length = 0;
    this.#listener?.ended(error);
  }

  async #grantedTo(holder: Holder, name: string): Promise<number> {
    const coordinator = memoryCoordinator(this.store, { runtime: this.main });
    const request = { name, holder, attempt: this.main.randomHex(16), ttlMs: this.#ttlMs };
    const [result] = await coordinator.acquire([request], { timeoutMs: 1_000 });
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    return result.term;
  }

  #start(start: ThreadStart, listener: ThreadListener) {
    this.startCount += 1;
    this.#listener = listener;
    this.#side = new ThreadSide({
      runtime: this.other,
      coordinator: memoryCoordinator(this.store, { runtime: this.other, link: this.link }),
      start,
      post: (message) => this.#toMain.push(structuredClone(message)),
      endProcess: () => {
        this.exitCount += 1;
      },
    });
    if (this.#options.isSilent !== true) queueMicrotask(() => listener.heard({ type: 'ready' }));
    return {
      post: (message: ToThread) => this.#toThread.push(structuredClone(message)),
      close: async () => {
        await this.#side?.close();
      },
    };
  }

  async #turnOther(durationMs: number): Promise<void> {
    for (const message of this.#toThread.splice(0))
      if (message.type !== 'close') this.#side?.receive(message);
    await this.other.advance(durationMs);
  }

  async #turnMain(durationMs: number): Promise<void> {
    for (const message of this.#toMain.splice(0)) this.#listener?.heard(message);
    await this.main.advance(durationMs);
  }

  #host(): LeaseHost {
    return {
      runtime: this.main,
      newsOf: (lease) => this.renewal.newsOf(lease),
      demandRenewal: (lease) => this.renewal.demand(lease),
      becameUncertain: ({ name }, cause) => this.log.push(`uncertain ${name} ${cause}`),
      recovered: ({ name }) => this.log.push(`recovered ${name}`),
      ended: (lease, reason) => {
        this.renewal.remove(lease);
        this.log.push(`${lease.state} ${lease.name} ${reason}`);
      },
      refused: () => undefined,
      release: async () => undefined,
      handoff: async () => true,
      letGo: () => undefined,
    };
  }
}
