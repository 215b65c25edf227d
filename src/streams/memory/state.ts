import { requireKnown } from '../../errors/checks.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { ShardBacklog, TopicResult } from '../contract.js';
import { checkDedupeWindow } from '../requests.js';
import { type LogTime, ShardLog } from './log.js';

export interface MemoryStreamsOptions {
  /** Where the clocks of this "server" come from. Default: those of this process. */
  readonly runtime?: Runtime;
  /** How long an id of a message is remembered after it was accepted. Default one hour. */
  readonly dedupeWindowMs?: number;
}

interface StateEvents {
  /** A log may have become non-empty; `undefined` means any. */
  bell: number | undefined;
  restart: undefined;
}

/**
 * The logs of one topic in the memory of this process: what a server is to its clients.
 *
 * It outlives the stores made from it, opens nothing and needs no closing. Stores on one `MemoryStreams` share its
 * logs, as processes that share a server do; all is gone with the process.
 */
export class MemoryStreams {
  readonly runtime: Runtime;
  readonly dedupeWindowMs: number;
  readonly #startedAt: Instant;
  readonly #logs = new Map<number, ShardLog>();
  readonly #events = new Emitter<StateEvents>({ bell: true, restart: true });
  #shardCount: number | undefined;

  constructor(options: MemoryStreamsOptions = {}) {
    requireKnown('options', options, { runtime: true, dedupeWindowMs: true });
    this.runtime = requireRuntime(options.runtime);
    this.dedupeWindowMs = checkDedupeWindow(options.dedupeWindowMs ?? 3_600_000);
    this.#startedAt = this.runtime.now();
  }

  /** Milliseconds since it was made, time in suspend included. Deadlines and the memory of ids are on this clock. */
  elapsedMs(): number {
    return elapsedMs(this.#startedAt, this.runtime.now());
  }

  /** @internal */
  get time(): LogTime {
    return { elapsedMs: this.elapsedMs(), wallMs: this.runtime.now().wallMs };
  }

  /** @internal */
  describeTopic(shardCount: number): TopicResult {
    this.#shardCount ??= shardCount;
    return this.#shardCount === shardCount
      ? { outcome: 'agreed' }
      : { outcome: 'differs', shardCount: this.#shardCount };
  }

  /** @internal The log of a shard; made when it is first asked for. */
  log(shard: number): ShardLog {
    let log = this.#logs.get(shard);
    if (log === undefined) {
      log = this.newLog(shard);
      this.#logs.set(shard, log);
    }
    return log;
  }

  /** @internal For a simulation that looks at what a log does. */
  protected newLog(_shard: number): ShardLog {
    return new ShardLog(this.dedupeWindowMs);
  }

  /** @internal */
  backlog(shard: number): ShardBacklog {
    const log = this.#logs.get(shard);
    const appendedAtMs = log?.oldest?.appendedAtMs;
    return {
      shard,
      count: log?.messageCount ?? 0,
      oldestAgeMs:
        appendedAtMs === undefined
          ? undefined
          : Math.max(0, this.runtime.now().wallMs - appendedAtMs),
    };
  }

  /** @internal */
  on<Name extends keyof StateEvents>(
    name: Name,
    listener: (event: StateEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /** @internal */
  ring(shard: number | undefined): void {
    this.#events.emit('bell', shard);
  }

  /** For tests: somebody appends something of their own to a log. Returns how to remove it. */
  appendForeign(shard: number): () => void {
    return this.log(shard).appendForeign(this.time);
  }

  /** For tests: somebody writes over what a log knows about its owner and its keys. Returns how to undo it. */
  overwriteState(shard: number): () => void {
    return this.log(shard).overwriteState();
  }

  /** For tests: the server restarts. What was connected to it is not any more; without its data, it forgot all. */
  restart(options: { readonly keepData: boolean }): void {
    if (!requireKnown('options', options, { keepData: true }).keepData) {
      this.#logs.clear();
      this.#shardCount = undefined;
    }
    this.#events.emit('restart', undefined);
    this.ring(undefined);
  }
}
