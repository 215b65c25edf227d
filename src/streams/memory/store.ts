import type { CallOptions } from '../../coordinators/index.js';
import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { type Known, requireInstance, requireKnown } from '../../errors/checks.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  InstallRequest,
  InstallResult,
  OpenResult,
  PublishRequest,
  PublishResult,
  SealResult,
  ShardBacklog,
  StepRequest,
  StepResult,
  StreamPromises,
  StreamStore,
  TopicResult,
} from '../contract.js';
import {
  checkInstalls,
  checkKey,
  checkLargestPayload,
  checkPublishes,
  checkSeq,
  checkShard,
  checkShardCount,
  checkShards,
  checkSteps,
  checkTimeout,
  checkVersion,
  defaultLargestPayloadBytes,
} from '../requests.js';
import { MemoryStreams } from './state.js';

export interface MemoryStreamStoreOptions {
  /** This client's own clocks and timers; they bound its calls. Default: those of the state. */
  readonly runtime?: Runtime;
  /** The network to the state. Default: everything arrives, two microtasks later. */
  readonly link?: MemoryLink;
  /** A larger payload is refused. Default 256 KiB. */
  readonly largestPayloadBytes?: number;
}

/**
 * A stream store in the memory of this process: for tests, simulations and programs that are one process.
 *
 * Stores made from one `state` see the same logs. Calls may be made concurrently; after `close()` they reject with
 * `ClosedError`, and one that was under way rejects with `OutcomeUnknownError`.
 */
export function memoryStreams(
  state: MemoryStreams = new MemoryStreams(),
  options: MemoryStreamStoreOptions = {},
): StreamStore {
  return new MemoryStreamStore(state, options);
}

const isPosition = (text: string) => /^[1-9]\d{0,15}$/.test(text);

const optionKeys: Known<MemoryStreamStoreOptions> = {
  runtime: true,
  link: true,
  largestPayloadBytes: true,
};

class MemoryStreamStore implements StreamStore {
  readonly promises: StreamPromises;
  readonly #state: MemoryStreams;
  readonly #caller: MemoryCaller;
  readonly #largestPayloadBytes: number;

  constructor(state: MemoryStreams, options: MemoryStreamStoreOptions) {
    requireInstance('state', state, MemoryStreams);
    requireKnown('options', options, optionKeys);
    this.#state = state;
    this.promises = {
      store: 'memory',
      durability: 'Nothing: appended messages are gone with the process.',
      dedupeWindowMs: state.dedupeWindowMs,
    };
    this.#caller = new MemoryCaller({
      what: 'memory streams',
      runtime: requireRuntime(options.runtime ?? state.runtime),
      link: requireLink(options.link),
      nowMs: () => state.elapsedMs(),
    });
    this.#caller.attach(() =>
      state.on('restart', () => this.#caller.giveUpAll('the connection to the store was lost')),
    );
    this.#largestPayloadBytes = checkLargestPayload(
      options.largestPayloadBytes ?? defaultLargestPayloadBytes,
    );
  }

  async describeTopic(shardCount: number, call: CallOptions): Promise<TopicResult> {
    checkShardCount(shardCount);
    return this.#caller.call('describeTopic', checkTimeout(call), () =>
      this.#state.describeTopic(shardCount),
    );
  }

  async publish(requests: readonly PublishRequest[], call: CallOptions): Promise<PublishResult[]> {
    const checked = checkPublishes(requests, this.#largestPayloadBytes);
    return this.#caller.call(
      'publish',
      checkTimeout(call),
      () => this.#append(checked),
      () => checked.map(() => ({ outcome: 'too-late' })),
    );
  }

  #append(requests: readonly PublishRequest[]): PublishResult[] {
    const { time } = this.#state;
    const filled = new Set<number>();
    const results = requests.map((request) => {
      const log = this.#state.log(request.shard);
      const wasEmpty = log.messageCount === 0;
      const result = log.append(request, time);
      if (wasEmpty && result.outcome === 'appended') filled.add(request.shard);
      return result;
    });
    for (const shard of filled) this.#state.ring(shard);
    return results;
  }

  async install(requests: readonly InstallRequest[], call: CallOptions): Promise<InstallResult[]> {
    const checked = checkInstalls(requests);
    return this.#caller.call('install', checkTimeout(call), () =>
      checked.map(({ shard, token }) =>
        this.#state.log(shard).install({ term: token.term, holderDigest: token.holder.digest }),
      ),
    );
  }

  async step(requests: readonly StepRequest[], call: CallOptions): Promise<StepResult[]> {
    const checked = checkSteps(requests, isPosition);
    return this.#caller.call('step', checkTimeout(call), () =>
      checked.map((request) => this.#state.log(request.shard).step(request)),
    );
  }

  async backlog(shards: readonly number[], call: CallOptions): Promise<ShardBacklog[]> {
    const checked = checkShards(shards);
    return this.#caller.call('backlog', checkTimeout(call), () =>
      checked.map((shard) => this.#state.backlog(shard)),
    );
  }

  watch(wake: (shard: number | undefined) => void): Unsubscribe {
    return this.#caller.listen<number | undefined>((told) => this.#state.on('bell', told), wake);
  }

  async seal(shard: number, key: string, version: number, call: CallOptions): Promise<SealResult> {
    checkShard(shard);
    checkKey(key);
    checkVersion(version);
    return this.#caller.call('seal', checkTimeout(call), () =>
      this.#state.log(shard).seal(key, version),
    );
  }

  async open(
    shard: number,
    key: string,
    lastSeq: number,
    version: number,
    call: CallOptions,
  ): Promise<OpenResult> {
    checkShard(shard);
    checkKey(key);
    checkSeq(lastSeq, 'lastSeq', 0);
    checkVersion(version);
    return this.#caller.call('open', checkTimeout(call), () =>
      this.#state.log(shard).open(key, lastSeq, version),
    );
  }

  async close(): Promise<void> {
    this.#caller.close();
  }
}
