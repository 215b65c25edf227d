import { groupOf } from '../coordinators/index.js';
import { endsInMs } from '../coordinators/remaining.js';
import { ClosedError, RecordCorruptError } from '../errors/index.js';
import { Emitter, type Unsubscribe } from '../events/index.js';
import type { Leases } from '../leases/index.js';
import { Backoff, sleep, type Timer, withDeadline } from '../time/index.js';
import {
  fail,
  forget,
  type Knowledge,
  type Leadership,
  learn,
  look,
  nothingKnown,
  type ReadFailure,
  validForMs,
} from './observation.js';
import type { Presence } from './presence.js';

export interface ReaderOptions {
  readonly leases: Leases;
  readonly name: string;
  /** Reads at least this often, give or take a fifth: a wake may be lost. */
  readonly pollMs: number;
  /** Held while somebody observes. */
  readonly presence: Presence | undefined;
}

/** What has no end of its own is believed for so many poll intervals. */
const staleAfterPolls = 3;

/**
 * Reads who leads, for all observers of this process and only while there are any: when the store wakes it, shortly
 * after what it knows has run out, and every poll interval. The last observer to leave takes timers and watches along.
 */
export class LeadershipReader {
  readonly #options: ReaderOptions;
  readonly #listeners = new Emitter<{ changed: undefined }>({ changed: true });
  #knowledge: Knowledge = nothingKnown;
  #observerCount = 0;
  #run: Run | undefined;
  #ended: { readonly error: unknown } | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Set once it was closed; with an error if it was the store that was. */
  get ended(): { readonly error: unknown } | undefined {
    return this.#ended;
  }

  /** What is known now, by the clock; `undefined` before the first read has ended. */
  look(): Leadership | undefined {
    return look(this.#knowledge, this.#options.leases.runtime.now());
  }

  /** Calls `changed` when there may be something new, or it was closed. @throws {ClosedError} if the store is closed. */
  attend(changed: () => void): Unsubscribe {
    if (this.#run === undefined) this.#start();
    const unsubscribe = this.#listeners.on('changed', changed);
    this.#observerCount += 1;
    return () => {
      unsubscribe();
      this.#observerCount -= 1;
      if (this.#observerCount === 0) this.#stop();
    };
  }

  /** Ends every observation, with an error if there is one. */
  close(error?: unknown): void {
    this.#ended ??= { error };
    this.#stop();
    this.#changed();
  }

  #start(): void {
    this.#knowledge = forget(this.#knowledge);
    const run = new Run(this.#options, {
      learned: (change) => this.#learned(change),
      outdated: () => this.#changed(),
      closed: (error) => this.close(error),
    });
    this.#run = run;
    void run.go();
  }

  #stop(): void {
    this.#run?.stop();
    this.#run = undefined;
  }

  #learned(change: (knowledge: Knowledge) => Knowledge): Knowledge {
    this.#knowledge = change(this.#knowledge);
    this.#changed();
    return this.#knowledge;
  }

  #changed(): void {
    this.#listeners.emit('changed', undefined);
  }
}

interface RunListener {
  learned(change: (knowledge: Knowledge) => Knowledge): Knowledge;
  outdated(): void;
  closed(error: unknown): void;
}

/** The time from the first observer to the last one's leaving. */
class Run {
  readonly #options: ReaderOptions;
  readonly #listener: RunListener;
  readonly #backoff: Backoff;
  readonly #ends: Unsubscribe[] = [];
  #wakeUp = new AbortController();
  #expiry: Timer | undefined;
  #isStopped = false;

  constructor(options: ReaderOptions, listener: RunListener) {
    const { leases, name, pollMs, presence } = options;
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(leases.runtime, { firstMs: pollMs / 16, limitMs: pollMs });
    const wake = (woken: string | undefined) => {
      if (woken === undefined || woken === name) this.#wakeUp.abort();
    };
    try {
      this.#ends.push(leases.coordinator.watch(groupOf(name), wake));
      this.#ends.push(leases.coordinator.onConnectionLost(() => wake(undefined)));
      if (presence !== undefined) {
        this.#ends.push(presence.hold());
        presence.enter();
      }
    } catch (error) {
      // Closed: nothing of it may stay.
      this.stop();
      throw error;
    }
  }

  async go(): Promise<void> {
    const { runtime } = this.#options.leases;
    while (!this.#isStopped) {
      this.#wakeUp = new AbortController();
      const pauseMs = await this.#read();
      if (!this.#isStopped) await sleep(runtime, pauseMs, this.#wakeUp.signal);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const end of this.#ends.splice(0)) end();
    this.#expiry?.cancel();
    this.#wakeUp.abort();
  }

  /** Resolves with the pause before the next read. */
  async #read(): Promise<number> {
    const { leases, name, pollMs } = this.#options;
    const { runtime, holder: self, timing } = leases;
    const sentAt = runtime.now();
    try {
      const limitMs = timing.attemptTimeoutMs * 2;
      const record = await withDeadline(runtime, limitMs, 'a read', leases.read(name));
      if (this.#isStopped) return 0;
      const asked = { sentAt, self, staleAfterMs: pollMs * staleAfterPolls };
      this.#expireAfter(this.#listener.learned((knowledge) => learn(knowledge, record, asked)));
      this.#backoff.reset();
      const endInMs = record === undefined ? Number.POSITIVE_INFINITY : endsInMs(record);
      return Math.min(pollMs * (0.8 + runtime.random() / 5), endInMs + 5 + runtime.random() * 20);
    } catch (error) {
      if (this.#isStopped) return 0;
      if (error instanceof ClosedError) this.#listener.closed(error);
      else this.#listener.learned((knowledge) => fail(knowledge, failureBy(error)));
      return this.#backoff.nextMs();
    }
  }

  /** Observers hear of it when what they know runs out, though nothing else happens. */
  #expireAfter(knowledge: Knowledge): void {
    const { runtime } = this.#options.leases;
    this.#expiry?.cancel();
    const inMs = validForMs(knowledge, runtime.now());
    this.#expiry = runtime.setTimer(inMs, () => this.#listener.outdated());
  }
}

function failureBy(error: unknown): ReadFailure {
  return error instanceof RecordCorruptError ? 'corrupt' : 'unreachable';
}
