import { type Hearing, PostgresListener } from '../../drivers/postgres/index.js';
import { TenureError } from '../../errors/index.js';
import { isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import type { Call } from '../candidates.js';
import type { Holder } from '../holder.js';
import { parseNews } from './channel.js';
import { type NewsAnswer, NewsReader } from './news.js';
import type { LeaseStore } from './store.js';

/** How often somebody who hears notifications asks all the same. */
const askWhileListeningMs = 10_000;
/** How often somebody asks who hears none. */
const askWhileDeafMs = 500;
/** No two questions are closer together, whatever ends meanwhile. */
const shortestPauseMs = 25;

interface WakingOptions {
  /** Where to listen; `undefined`: there is no connection of our own to do it on. */
  readonly url: string | undefined;
  readonly runtime: Runtime;
  readonly connectTimeoutMs: number;
}

/**
 * Tells who watches a group that a name changed, and calls those whose turn it is. Does nothing while nobody listens.
 *
 * Notifications make it quick. Behind them somebody asks from time to time, at the latest when something that was seen
 * ends by itself, and compares: so a notification that was lost costs time and nothing else.
 */
export class Waking {
  readonly #store: LeaseStore;
  readonly #options: WakingOptions;
  readonly #warn: (message: string) => void;
  readonly #reader = new NewsReader();
  #stopLines: Unsubscribe | undefined;
  #listener: PostgresListener | undefined;
  /** Something in between never delivers notifications, so none is asked for again. */
  #isPooled = false;
  #isListening = false;
  /** Something may have happened that nobody can tell from what is seen now. */
  #hasMissed = false;
  #timer: Timer | undefined;
  #isAsking = false;
  #isAskDue = false;
  readonly #endings = new Set<Promise<void>>();

  constructor(store: LeaseStore, options: WakingOptions, warn: (message: string) => void) {
    this.#store = store;
    this.#options = options;
    this.#warn = warn;
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    return this.#add(this.#reader.watches, { group, wake: isolated('watch', wake) });
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#add(this.#reader.waiters, { holder, called: isolated('onCalled', called) });
  }

  /** See {@link NewsReader.note}. */
  note(name: string): void {
    this.#reader.note(name);
  }

  #add<Listener>(listeners: Set<Listener>, listener: Listener): Unsubscribe {
    listeners.add(listener);
    this.#begin();
    this.#askIn(0);
    return () => {
      listeners.delete(listener);
      if (this.#reader.isIdle) this.#rest();
    };
  }

  #begin(): void {
    this.#stopLines ??= this.#store.lines.on('disconnected', () => {
      this.#hasMissed = true;
    });
    const { url, runtime, connectTimeoutMs } = this.#options;
    if (url === undefined || this.#isPooled || this.#listener !== undefined) return;
    const { channel } = this.#store;
    const where = { runtime, connectTimeoutMs, channel };
    this.#listener = new PostgresListener(url, where, this.#hearing());
  }

  #hearing(): Hearing {
    return {
      listening: () => {
        this.#isListening = true;
        // What was told before nobody heard.
        this.#hasMissed = true;
        this.#askIn(0);
      },
      deaf: () => {
        this.#isListening = false;
        this.#askIn(askWhileDeafMs);
      },
      pooled: () => {
        this.#isPooled = true;
        this.#isListening = false;
        this.#warn(
          `notifications do not come through: is a pooler in transaction mode in between? Who waits asks every ${askWhileDeafMs} ms instead. Connect to the server itself, or through a pooler in session mode, to be told at once`,
        );
      },
      heard: (payload) => {
        const news = parseNews(payload);
        if (news !== undefined) this.#reader.hear(news.name, news.called);
      },
      failed: (error) => this.#warn(error.message),
      notify: async (channel) => {
        const { runtime, connectTimeoutMs } = this.#options;
        const deadlineMs = runtime.now().monotonicMs + connectTimeoutMs;
        const line = await this.#store.lines.take('a trial', deadlineMs, false);
        try {
          await line.query('SELECT pg_notify($1, $2)', [channel, ''], deadlineMs);
          line.done();
        } catch (error) {
          line.abandon('a trial failed');
          throw error;
        }
      },
    };
  }

  #askIn(pauseMs: number): void {
    this.#timer?.cancel();
    if (this.#reader.isIdle) return;
    const options = { keepsProcessAlive: false };
    this.#timer = this.#options.runtime.setTimer(pauseMs, () => void this.#ask(), options);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) {
      this.#isAskDue = true;
      return;
    }
    this.#isAsking = true;
    this.#isAskDue = false;
    let endsInMs = Number.POSITIVE_INFINITY;
    try {
      endsInMs = await this.#look();
    } catch (error) {
      if (!(error instanceof TenureError)) throw error;
      this.#hasMissed = true;
    } finally {
      this.#isAsking = false;
    }
    const usualMs = this.#isListening ? askWhileListeningMs : askWhileDeafMs;
    // Not all at the same moment, when many wait for one name to end.
    const jitterMs = this.#options.runtime.random() * 20;
    this.#askIn(
      this.#isAskDue ? 0 : Math.min(usualMs, Math.max(shortestPauseMs, endsInMs + jitterMs)),
    );
  }

  /** @returns in how many milliseconds something ends by itself. */
  async #look(): Promise<number> {
    const { groups, digests } = this.#reader;
    const { connectTimeoutMs } = this.#options;
    const hasMissed = this.#hasMissed;
    this.#hasMissed = false;
    try {
      const values = [groups, digests];
      const answer = await this.#store.read<NewsAnswer>('news', values, connectTimeoutMs);
      if (hasMissed) this.#reader.tellAll();
      return this.#reader.read(answer, groups, digests);
    } catch (error) {
      this.#hasMissed ||= hasMissed;
      throw error;
    }
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#stopLines?.();
    this.#stopLines = undefined;
    this.#reader.forget();
    this.#isListening = false;
    this.#hasMissed = false;
    const ending = this.#listener?.stop();
    this.#listener = undefined;
    if (ending === undefined) return;
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  async close(): Promise<void> {
    this.#reader.watches.clear();
    this.#reader.waiters.clear();
    this.#rest();
    await Promise.all(this.#endings);
  }
}
