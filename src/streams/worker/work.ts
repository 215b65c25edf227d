import type { Unsubscribe } from '../../events/index.js';
import type { Fence } from '../../fences/index.js';
import type { Lease, Leases } from '../../leases/index.js';
import type { OwnedShard, RefusedShard, ShardWork } from '../../shards/index.js';
import type { StreamStore } from '../contract.js';
import { claimAll } from './claim.js';
import { CorruptLogs } from './corrupt-logs.js';
import type { PumpEventSink } from './events.js';
import { HandlerTimes } from './handler-times.js';
import { Installer } from './installer.js';
import { Patrol } from './patrol.js';
import { Pump } from './pump.js';
import { Redeliveries } from './redeliveries.js';
import { type RunnerEnvironment, ShardRunner } from './runner.js';

export interface StreamWorkOptions extends Omit<RunnerEnvironment, 'due' | 'refused' | 'times'> {
  readonly store: StreamStore;
  readonly events: PumpEventSink;
  readonly fence: Pick<Fence<never>, 'claim'> | undefined;
  readonly leases: Leases;
  readonly callTimeoutMs: number;
  readonly maxBufferedCount: number;
  readonly idleReadEveryMs: number;
  readonly stalledAfterMs: number;
  /** Makes sure that the store counts the topic's shards as we do, or throws. */
  readonly agree: () => Promise<void>;
}

/** Who has seen a newer owner, and its term where that is known. */
interface Refusal {
  readonly by: 'fence' | 'log' | 'handler';
  readonly installedTerm: number | undefined;
}

/**
 * The work on owned shards: fence first, then the log, then reading ("claim before read"), so that what a predecessor
 * did is either seen or refused.
 */
export class StreamWork implements ShardWork {
  readonly pump: Pump;
  /** To be told of takeovers. */
  readonly redeliveries: Redeliveries;
  readonly #options: StreamWorkOptions;
  readonly #environment: RunnerEnvironment;
  readonly #installer: Installer;
  readonly #times: HandlerTimes;
  readonly #runners = new Map<number, ShardRunner>();
  readonly #byLease = new WeakMap<Lease, ShardRunner>();
  /** Per shard, the latest runner that was let go and is waited for: it waits for those before it. */
  readonly #leaving = new Map<number, ShardRunner>();
  /** Per shard, the latest term that was in the way of one of ours: a lower one need not be tried. */
  readonly #refusals = new Map<number, Refusal & { readonly installedTerm: number }>();
  #subscriptions: Unsubscribe[] = [];

  constructor(options: StreamWorkOptions) {
    const { runtime, events } = options;
    const corruptLogs = new CorruptLogs(runtime, events);
    const times = new HandlerTimes(events);
    this.#times = times;
    this.redeliveries = new Redeliveries(runtime, events);
    this.#options = options;
    this.#installer = new Installer({ ...options, corruptLogs });
    this.pump = new Pump({
      ...options,
      corruptLogs,
      times,
      redeliveries: this.redeliveries,
      reinstall: (runners) => void this.#reinstall(runners),
      refuse: (runner, installedTerm) => this.#refuse(runner, { by: 'log', installedTerm }),
    });
    this.#environment = {
      ...options,
      times,
      due: (runner) => this.pump.due(runner),
      refused: (runner, installedTerm) => this.#refuse(runner, { by: 'handler', installedTerm }),
    };
  }

  async begin(shards: readonly OwnedShard[]): Promise<readonly RefusedShard[]> {
    const runners = shards.map((owned) => this.#create(owned));
    const refusals = new Map<ShardRunner, Refusal>();
    const refuse = (runner: ShardRunner, refusal: Refusal) => {
      refusals.set(runner, refusal);
      this.#forget(runner);
    };
    try {
      for (const runner of runners) {
        const refusal = this.#refusals.get(runner.shard);
        if (refusal === undefined) continue;
        if (refusal.installedTerm >= runner.lease.term) refuse(runner, refusal);
        else this.#refusals.delete(runner.shard);
      }
      await this.#claim(runners, refuse);
      const alive = runners.filter((runner) => runner.isAlive);
      await this.#installer.install(alive, {
        installed: (runner) => this.#open(runner),
        refused: (runner, installedTerm) => refuse(runner, { by: 'log', installedTerm }),
      });
    } catch (error) {
      for (const runner of runners) this.#forget(runner);
      throw error;
    } finally {
      // Not before: who hears that the lease has ended asks for the next one, and is to know by then how high.
      for (const [runner, refusal] of refusals) this.#refuse(runner, refusal);
    }
    return [...refusals].map(([{ shard, lease }, { installedTerm }]) => ({
      shard: { shard, lease },
      installedTerm: installedTerm ?? 0,
    }));
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
    this.#times.tell();
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

  async #claim(
    runners: readonly ShardRunner[],
    refuse: (runner: ShardRunner, refusal: Refusal) => void,
  ): Promise<void> {
    const { fence } = this.#options;
    if (fence === undefined) return;
    await claimAll(fence, runners, (runner, installedTerm) =>
      refuse(runner, { by: 'fence', installedTerm }),
    );
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

  #refuse(runner: ShardRunner, { by, installedTerm }: Refusal): void {
    const { shard, lease } = runner;
    if (installedTerm !== undefined) this.#refusals.set(shard, { by, installedTerm });
    lease.supersede();
    this.#forget(runner);
    this.#options.events.emit('shardRefused', { shard, lease, by, installedTerm });
  }

  /** Some logs have lost what they knew about their owner. Ours is still the newest term that anyone was granted. */
  async #reinstall(forgotten: readonly ShardRunner[]): Promise<void> {
    await this.#installer.insist(forgotten, {
      installed: (runner) => this.#reset(runner),
      refused: (runner, installedTerm) => this.#refuse(runner, { by: 'log', installedTerm }),
    });
  }

  #reset(runner: ShardRunner): void {
    const { shard, lease } = runner;
    runner.restart();
    this.pump.addReset(runner);
    this.#options.events.emit('logReset', { shard, lease });
  }
}
