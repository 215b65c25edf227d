import { ClosedError, isTransient } from '../errors/index.js';
import type { Emitter, Unsubscribe } from '../events/index.js';
import type { EndReason, Lease } from '../leases/index.js';
import { Backoff, sleep } from '../time/index.js';
import type { ShardWorkerEvents } from './events.js';
import { parseMember, shardCountMismatch } from './members.js';
import { Membership } from './membership.js';
import type { ResolvedShardWorkerOptions } from './options.js';
import type { Ownership } from './ownership.js';
import { Pacer } from './pacer.js';
import { Planner } from './planner.js';

/** One life of a worker, from its registration to its leaving. */
export class Run {
  readonly #options: ResolvedShardWorkerOptions;
  readonly #emitter: Emitter<ShardWorkerEvents>;
  readonly #membership: Membership;
  readonly #planner: Planner;
  readonly #pacer: Pacer;
  readonly #aborter = new AbortController();
  readonly #subscriptions: Unsubscribe[] = [];
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ResolvedShardWorkerOptions, emitter: Emitter<ShardWorkerEvents>) {
    const { leases, group, shardCount, sweepEveryMs } = options;
    this.#options = options;
    this.#emitter = emitter;
    this.#membership = new Membership(leases, group, shardCount);
    this.#planner = new Planner(options, emitter, this.#membership, () => this.#pacer.wake());
    this.#pacer = new Pacer({
      runtime: leases.runtime,
      pass: (woken) => this.#planner.pass(woken),
      onError: (error) => emitter.emit('error', { error, during: this.#planner.step }),
      longestBackoffMs: sweepEveryMs,
    });
  }

  get ownership(): Ownership {
    return this.#planner.ownership;
  }

  /** Resolves when this process is a member and has claimed for the first time. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<void> {
    const { leases, group } = this.#options;
    const { signal } = this.#aborter;
    try {
      await this.#persist(async () => {
        await this.#refuseOtherShardCount();
        await this.#membership.register(signal);
      });
      signal.throwIfAborted();
      this.#subscriptions.push(
        leases.events.on('lost', (event) => this.#leaseEnded(event.lease, event.reason)),
        leases.events.on('released', (event) => this.#leaseEnded(event.lease, event.reason)),
        leases.coordinator.watch(`${group}/members`, () => this.#pacer.wake()),
        leases.coordinator.watch(`${group}/shards`, (name) => {
          if (name === undefined || !this.ownership.isEcho(name)) this.#pacer.wake(name);
        }),
      );
    } catch (error) {
      await this.#leave();
      throw error;
    }
    this.#emitter.emit('memberState', { state: this.#membership.state });
    await Promise.all([this.#membership.ring(), this.#pacer.passNow()]);
  }

  async #stop(): Promise<void> {
    this.#aborter.abort(new ClosedError('this run of the shard worker'));
    const hasStarted = await (this.#starting ?? Promise.reject()).then(
      () => true,
      () => false,
    );
    if (!hasStarted) return;
    this.#planner.leave();
    // It tells the others and finds the successors; if it fails, the shards are freed for anybody.
    await this.#pacer.passNow();
    await this.ownership.drainAll();
    await this.#leave();
  }

  async #leave(): Promise<void> {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    await this.#pacer.stop();
    await this.#membership.leave();
  }

  #leaseEnded(lease: Lease, reason: EndReason): void {
    this.ownership.leaseEnded(lease, reason);
    if (lease === this.#membership.lease) this.#pacer.wake();
  }

  /** Tries until the store can be reached, or the run is stopped; other errors are final. */
  async #persist(attempt: () => Promise<void>): Promise<void> {
    const { runtime, timing } = this.#options.leases;
    const { signal } = this.#aborter;
    const limitMs = timing.renewEveryMs;
    const backoff = new Backoff(runtime, { firstMs: Math.min(100, limitMs), limitMs });
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransient(error)) throw error;
        this.#emitter.emit('error', { error, during: 'register' });
      }
      await sleep(runtime, backoff.nextMs(), signal);
      signal.throwIfAborted();
    }
  }

  /** Keys would be two different shards' at once. */
  async #refuseOtherShardCount(): Promise<void> {
    const { leases, group, shardCount } = this.#options;
    const { attemptTimeoutMs: timeoutMs } = leases.timing;
    const records = await leases.coordinator.list(`${group}/members`, { timeoutMs });
    for (const record of records) {
      const member = parseMember(group, record);
      if (member !== undefined && member.shardCount !== shardCount)
        throw shardCountMismatch(member.id, member.shardCount, shardCount);
    }
  }
}
