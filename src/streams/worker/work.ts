import type { Unsubscribe } from '../../events/index.js';
import type { Fence } from '../../fences/index.js';
import type { Lease, Leases } from '../../leases/index.js';
import type { OwnedShard, ShardWork } from '../../shards/index.js';
import { Backoff, sleep } from '../../time/index.js';
import type { StreamStore } from '../contract.js';
import { claimAll } from './claim.js';
import type { PumpEventSink } from './events.js';
import { Patrol } from './patrol.js';
import { Pump } from './pump.js';
import { type RunnerEnvironment, ShardRunner } from './runner.js';

export interface StreamWorkOptions extends Omit<RunnerEnvironment, 'due'> {
  readonly store: StreamStore;
  readonly events: PumpEventSink;
  readonly fence: Pick<Fence<never>, 'claim'> | undefined;
  readonly leases: Leases;
  readonly callTimeoutMs: number;
  readonly maxBufferedCount: number;
  readonly idleReadEveryMs: number;
  readonly stalledAfterMs: number;
}

/**
 * The work on owned shards: fence first, then the log, then reading ("claim before read"), so that what a predecessor
 * did is either seen or refused.
 */
export class StreamWork implements ShardWork {
  readonly pump: Pump;
  readonly #options: StreamWorkOptions;
  readonly #environment: RunnerEnvironment;
  readonly #runners = new Map<number, ShardRunner>();
  readonly #byLease = new WeakMap<Lease, ShardRunner>();
  /** Per shard, the latest runner that was let go and is waited for: it waits for those before it. */
  readonly #leaving = new Map<number, ShardRunner>();
  #subscriptions: Unsubscribe[] = [];

  constructor(options: StreamWorkOptions) {
    const { runtime, store, events, callTimeoutMs, maxBufferedCount } = options;
    this.#options = options;
    this.pump = new Pump({
      runtime,
      store,
      events,
      callTimeoutMs,
      maxBufferedCount,
      reinstall: (runners) => void this.#reinstall(runners),
      refuse: (runner, installedTerm) => this.#refuse(runner, 'log', installedTerm),
    });
    this.#environment = { ...options, due: (runner) => this.pump.due(runner) };
  }

  async begin(shards: readonly OwnedShard[]): Promise<void> {
    const runners = shards.map((owned) => this.#create(owned));
    try {
      await this.#claim(runners);
      await this.#install(runners.filter((runner) => runner.isAlive));
    } catch (error) {
      for (const runner of runners) this.#forget(runner);
      throw error;
    }
    for (const runner of runners) if (runner.isOpen && runner.isAlive) this.#open(runner);
  }

  async drain(owned: OwnedShard): Promise<void> {
    // Not only the present one: the handler of one that was dropped may still run.
    const runner = this.#byLease.get(owned.lease);
    if (runner === undefined) return;
    await runner.drain();
    this.#forget(runner);
  }

  drop(owned: OwnedShard): void {
    const runner = this.#find(owned);
    if (runner !== undefined) this.#forget(runner);
  }

  /** Begins to listen: to the bell of the store, to the leases, to the time. */
  start(): void {
    const { store, leases, runtime, events, idleReadEveryMs, stalledAfterMs } = this.#options;
    const patrolled = { runtime, events, pump: this.pump, stalledAfterMs };
    const patrol = new Patrol({ ...patrolled, everyMs: idleReadEveryMs });
    this.#subscriptions = [
      store.watch((shard) => this.#bellRang(shard)),
      // A lost lease needs no listening to: its owner drops the shard.
      leases.events.on('recovered', ({ lease }) => this.#byLease.get(lease)?.proceed()),
      () => patrol.stop(),
    ];
  }

  /** After the last shard was drained or dropped. Resolves when no handler runs, but for those reported abandoned. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    for (const runner of [...this.#runners.values()]) this.#forget(runner);
    await Promise.all([...this.#leaving.values()].map(({ givenUp }) => givenUp));
  }

  #bellRang(shard: number | undefined): void {
    if (shard === undefined) for (const runner of this.pump.runners) this.#ring(runner);
    else this.#ring(this.#runners.get(shard));
  }

  #find({ shard, lease }: OwnedShard): ShardRunner | undefined {
    const runner = this.#runners.get(shard);
    return runner?.lease === lease ? runner : undefined;
  }

  #create(owned: OwnedShard): ShardRunner {
    const predecessor = this.#runners.get(owned.shard);
    if (predecessor !== undefined) this.#forget(predecessor);
    const before = this.#leaving.get(owned.shard)?.givenUp;
    const runner = new ShardRunner(owned, this.#environment, before);
    this.#runners.set(owned.shard, runner);
    this.#byLease.set(owned.lease, runner);
    return runner;
  }

  async #claim(runners: readonly ShardRunner[]): Promise<void> {
    const { fence } = this.#options;
    if (fence === undefined) return;
    await claimAll(fence, runners, (runner, term) => this.#refuse(runner, 'fence', term));
  }

  async #install(runners: readonly ShardRunner[]): Promise<void> {
    if (runners.length === 0) return;
    const requests = runners.map(({ shard, lease }) => ({ shard, token: lease }));
    const { store, callTimeoutMs: timeoutMs } = this.#options;
    const results = await store.install(requests, { timeoutMs });
    for (const [index, runner] of runners.entries()) {
      const result = results[index];
      if (result?.outcome === 'installed') continue;
      const installedTerm = result?.outcome === 'stale' ? result.installedTerm : undefined;
      this.#refuse(runner, 'log', installedTerm);
    }
  }

  #open(runner: ShardRunner): void {
    runner.start();
    this.pump.add(runner);
  }

  #ring(runner: ShardRunner | undefined): void {
    if (runner === undefined || !runner.isOpen) return;
    runner.intake.ring();
    if (runner.intake.isHungry) this.pump.due(runner);
  }

  #forget(runner: ShardRunner): void {
    this.pump.remove(runner);
    if (this.#find(runner) === undefined) return;
    this.#runners.delete(runner.shard);
    this.#leaving.set(runner.shard, runner);
    void runner.givenUp.then(() => {
      if (this.#leaving.get(runner.shard) === runner) this.#leaving.delete(runner.shard);
    });
    runner.end();
  }

  #refuse(runner: ShardRunner, by: 'fence' | 'log', installedTerm: number | undefined): void {
    const { shard, lease } = runner;
    lease.supersede();
    this.#forget(runner);
    this.#options.events.emit('shardRefused', { shard, lease, by, installedTerm });
  }

  /** Some logs have lost what they knew about their owner. Ours is still the newest term that anyone was granted. */
  async #reinstall(forgotten: readonly ShardRunner[]): Promise<void> {
    const { runtime, events } = this.#options;
    const backoff = new Backoff(runtime, { firstMs: 100, limitMs: 5_000 });
    for (;;) {
      const runners = forgotten.filter((runner) => runner.isAlive);
      const [first] = runners;
      if (first === undefined) return;
      try {
        await this.#install(runners);
        for (const runner of runners) if (runner.isAlive) this.#reset(runner);
        return;
      } catch (error) {
        const retryInMs = backoff.nextMs();
        events.emit('storeFailed', { operation: 'install', error, retryInMs });
        await sleep(runtime, retryInMs, first.lease.signal);
      }
    }
  }

  #reset(runner: ShardRunner): void {
    const { shard, lease } = runner;
    runner.restart();
    this.pump.addReset(runner);
    this.#options.events.emit('logReset', { shard, lease });
  }
}
