import { Elections } from '../elections/index.js';
import { type Known, requireKnown, requireWhole } from '../errors/checks.js';
import { ClosedError, OptionError } from '../errors/index.js';
import type { Unsubscribe } from '../events/index.js';
import { Leases } from '../leases/index.js';
import { Once } from '../once/index.js';
import { Schedule } from '../schedule/index.js';
import { ShardWorker } from '../shards/index.js';
import { StreamWorker, Topic } from '../streams/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { BoundedValues } from './bounded.js';
import { createInstruments, type Instruments } from './catalogue.js';
import { Gauge } from './instruments.js';
import type { Collector, Site } from './site.js';
import { observeElections } from './sources/elections.js';
import { observeOnce, observeSchedule } from './sources/jobs.js';
import { observeLeases } from './sources/leases.js';
import { observeFences, observeLoop } from './sources/process.js';
import { observeShardWorker, observeStreamWorker, observeTopic } from './sources/streams.js';

export interface MetricsOptions {
  /**
   * So many values of a label that is a name (`election`, `group`, `job`, `node`) have series of their own; all others share
   * those of `other`. 1 to 10,000; default 100.
   */
  readonly nameLimit?: number;
  /** Groups with more shards than this have one series, `shard="all"`, instead of one for each. 0 to 4,096; default 64. */
  readonly shardSeriesLimit?: number;
  /**
   * Whether a collection asks the store for candidates and backlogs, at most every five seconds, and for the vacancy before a
   * term that this process won. Default `true`; `false` leaves those metrics out.
   */
  readonly asksStore?: boolean;
  /** Clocks and timers. Default: the real ones. */
  readonly runtime?: Runtime;
}

export const metricsKeys: Known<MetricsOptions> = {
  ...{ nameLimit: true, shardSeriesLimit: true, asksStore: true, runtime: true },
};

/** What can be observed. A worker brings its leases and its topic along, elections and a schedule their leases. */
export type Observable =
  | Leases
  | Elections
  | ShardWorker
  // The payload is of no concern here.
  | StreamWorker<never>
  | Topic
  | Schedule
  | Once;

export interface ObserveOptions {
  /** The value of its `group` label. Default: the worker's group. A topic without a worker in this process needs one. */
  readonly name?: string;
}

/** All figures of one process, and whose they are. Exporters read them; see `tenure/prometheus` and `tenure/otel`. */
export class Metrics {
  readonly instruments: Instruments = createInstruments();
  readonly #runtime: Runtime;
  readonly #site: Site;
  readonly #collectors = new Set<Collector>();
  readonly #observed = new Map<object, { count: number; readonly stop: Unsubscribe }>();
  readonly #ownWatches: readonly Unsubscribe[];
  #collecting: Promise<void> | undefined;
  #isClosed = false;

  /** Watches the event loop and the fences of this process from now on. @throws {OptionError} */
  constructor(options: MetricsOptions = {}) {
    const {
      nameLimit = 100,
      shardSeriesLimit = 64,
      asksStore = true,
    } = requireKnown('options', options, metricsKeys);
    requireWhole('nameLimit', nameLimit, 1, 10_000);
    requireWhole('shardSeriesLimit', shardSeriesLimit, 0, 4_096);
    this.#runtime = requireRuntime(options.runtime);
    this.#site = {
      instruments: this.instruments,
      names: new BoundedValues(nameLimit),
      shardSeriesLimit,
      asksStore,
      onCollect: (collector) => {
        this.#collectors.add(collector);
        return () => void this.#collectors.delete(collector);
      },
      observe: (source, name) => this.#observe(source, name),
    };
    this.#ownWatches = [observeLoop(this.#site, this.#runtime), observeFences(this.#site)];
  }

  /** @throws {OptionError} for what cannot be observed, or a topic without a name. {@link ClosedError} after `close`. */
  observe(source: Observable, options: ObserveOptions = {}): Unsubscribe {
    if (this.#isClosed) throw new ClosedError('Metrics');
    const { name } = requireKnown('options', options, { name: true });
    return this.#observe(source, name);
  }

  /** Brings all gauges up to date. Whoever asks meanwhile waits for the same collection. Never rejects. */
  collect(): Promise<void> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  /** Ends every observation. */
  close(): void {
    this.#isClosed = true;
    for (const { stop } of this.#observed.values()) stop();
    this.#observed.clear();
    for (const stop of this.#ownWatches) stop();
  }

  async #collect(): Promise<void> {
    await Promise.all([...this.#collectors].map(({ prepare }) => prepare?.()));
    for (const instrument of Object.values(this.instruments))
      if (instrument instanceof Gauge) instrument.clear();
    for (const { tell } of this.#collectors) tell();
  }

  /** What is observed twice, by itself and with something else, is counted once. */
  #observe(source: object, name: string | undefined): Unsubscribe {
    const present = this.#observed.get(source);
    const observed = present ?? { count: 0, stop: this.#attach(source, name) };
    if (present === undefined) this.#observed.set(source, observed);
    observed.count += 1;
    let isObserving = true;
    return () => {
      if (!isObserving || this.#observed.get(source) !== observed) return;
      isObserving = false;
      observed.count -= 1;
      if (observed.count > 0) return;
      this.#observed.delete(source);
      observed.stop();
    };
  }

  #attach(source: object, name: string | undefined): Unsubscribe {
    const site = this.#site;
    if (source instanceof Leases) return observeLeases(site, source);
    if (source instanceof Elections) return observeElections(site, source);
    if (source instanceof StreamWorker)
      return observeStreamWorker(site, source as StreamWorker<never>, name);
    if (source instanceof ShardWorker) return observeShardWorker(site, source, name);
    if (source instanceof Topic) return observeTopic(site, source, requireTopicName(name));
    if (source instanceof Schedule) return observeSchedule(site, source, this.#runtime);
    if (source instanceof Once) return observeOnce(site, source);
    const remedy = 'pass leases, elections, a worker, a topic, a schedule or a Once';
    throw new OptionError('source', source, 'cannot be observed', remedy);
  }
}

function requireTopicName(name: string | undefined): string {
  if (name !== undefined) return name;
  const remedy = 'pass { name }: the group that handles the topic';
  throw new OptionError('name', name, 'is missing for a topic', remedy);
}
