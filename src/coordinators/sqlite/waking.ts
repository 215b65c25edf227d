import { listen, type SqliteSession } from '../../drivers/sqlite/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import type { Call } from '../candidates.js';
import type { Holder } from '../holder.js';
import { NewsReader } from './news.js';

/**
 * A file tells nobody that it changed, so who wants to know looks. A look that finds nothing new asks the kernel which
 * file is there and SQLite for its version: ten microseconds, and mostly the price of waking up. Measured, one waiter that
 * looks this often took 0.4 to 1 % of a processor on a busy machine. It is soon enough for people and leases of seconds.
 */
const lookEveryMs = 75;
/** However soon the next deadline is, and however busy the file. */
const shortestPauseMs = 5;

/** Tells who watches a group that a name became free, and calls those whose turn it is. Looks only while somebody listens. */
export class Waking {
  readonly #session: SqliteSession;
  readonly #runtime: Runtime;
  readonly #reader: NewsReader;
  #stopListening: Unsubscribe | undefined;
  #timer: Timer | undefined;
  #isLookDue = false;
  /** The version of the file when it was last looked at; `undefined`: look whatever it is. */
  #version: number | undefined;

  constructor(session: SqliteSession, namespace: string, runtime: Runtime) {
    this.#session = session;
    this.#reader = new NewsReader(namespace);
    this.#runtime = runtime;
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    return this.#add(this.#reader.watches, { group, wake });
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#add(this.#reader.waiters, { holder, called, known: new Map() });
  }

  /** This client wrote something that nobody waits for, but that may have moved a deadline. */
  noteWrite(): void {
    this.#version = undefined;
  }

  close(): void {
    this.#reader.watches.clear();
    this.#reader.waiters.clear();
    this.#rest();
  }

  #add<Listener>(listeners: Set<Listener>, listener: Listener): Unsubscribe {
    listeners.add(listener);
    this.#stopListening ??= this.#begin();
    this.#version = undefined;
    this.#session.warm();
    this.#lookSoon();
    return () => {
      listeners.delete(listener);
      if (this.#reader.listenerCount === 0) this.#rest();
    };
  }

  #begin(): Unsubscribe {
    const leaveBell = listen(this.#session.path, () => {
      this.#version = undefined;
      this.#lookSoon();
    });
    const leaveSession = this.#session.on('lost', () => this.#reader.noteLostFile());
    return () => {
      leaveBell();
      leaveSession();
    };
  }

  #rest(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#reader.forget();
  }

  /** After what is going on now, and once for all that rings meanwhile. */
  #lookSoon(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    queueMicrotask(() => {
      this.#isLookDue = false;
      if (this.#stopListening !== undefined) this.#look();
    });
  }

  #look(): void {
    this.#timer?.cancel();
    const version = this.#session.dataVersion();
    const isOld = version !== undefined && version === this.#version && !this.#isPointPassed();
    const news = isOld ? [] : this.#session.peek((transaction) => this.#reader.read(transaction));
    // The version from before the look: what was written since is looked at next time.
    this.#version = news === undefined ? undefined : version;
    this.#lookAgainIn(news === undefined ? lookEveryMs : this.#untilNextPointMs());
    for (const tell of news ?? []) tell();
  }

  #lookAgainIn(pauseMs: number): void {
    this.#timer = this.#runtime.setTimer(
      Math.min(lookEveryMs, Math.max(shortestPauseMs, pauseMs)),
      () => this.#look(),
      { keepsProcessAlive: false },
    );
  }

  #isPointPassed(): boolean {
    return this.#untilNextPointMs() <= 0;
  }

  #untilNextPointMs(): number {
    const { nextPointMs } = this.#reader;
    if (nextPointMs === Number.POSITIVE_INFINITY) return nextPointMs;
    return nextPointMs - this.#session.clock.now().nowMs;
  }
}
