import { unreachable } from '../../errors/unanswered.js';
import { Backoff, elapsedMs, type Runtime, sleep } from '../../time/index.js';
import { classifyPostgresError } from './errors.js';
import { PostgresLink } from './link.js';

export interface ListenerOptions {
  readonly runtime: Runtime;
  /** How long connecting may take, and an answer to a heartbeat. */
  readonly connectTimeoutMs: number;
  /** A socket that is silently dead is noticed within this plus `connectTimeoutMs`. Default 5,000 ms. */
  readonly heartbeatMs?: number;
  /** Letters, digits and underscores, at most 63. */
  readonly channel: string;
}

/** Who is told. None of these may throw. */
export interface Hearing {
  /** The channel is heard from now on; nobody heard what was told before. */
  listening(): void;
  /** It is not heard any more, for now. */
  deaf(): void;
  /** Nothing will ever be heard here: something in between gives the session to others. */
  pooled(): void;
  heard(payload: string): void;
  failed(error: Error): void;
  /** Notifies a channel over another connection. */
  notify(channel: string): Promise<void>;
}

/** How long a notification of our own may take to come through whatever is in between. */
const trialMs = 500;

/**
 * One connection that hears one channel, until it is stopped: connected anew when it is lost.
 *
 * A notification that nobody hears is forgotten, so it is a hint. A heartbeat notices a socket whose other end is gone
 * without a word. A pooler that gives sessions to transactions takes `LISTEN` and never delivers: it is found out before
 * the channel is listened to.
 */
export class PostgresListener {
  readonly #url: string;
  readonly #options: ListenerOptions;
  readonly #hearing: Hearing;
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;
  #link: PostgresLink | undefined;

  constructor(url: string, options: ListenerOptions, hearing: Hearing) {
    this.#url = url;
    this.#options = options;
    this.#hearing = hearing;
    this.#loop = this.#run();
  }

  async #run(): Promise<void> {
    const { runtime } = this.#options;
    const { signal } = this.#stopping;
    const backoff = new Backoff(runtime, { firstMs: 50, limitMs: 5_000 });
    while (!signal.aborted) {
      const startedAt = runtime.now();
      try {
        if ((await this.#listen()) === 'pooled') {
          this.#hearing.pooled();
          return;
        }
      } catch (error) {
        if (!signal.aborted)
          this.#hearing.failed(classifyPostgresError(error, 'connect', 'listening for changes'));
      }
      if (signal.aborted) return;
      this.#hearing.deaf();
      if (elapsedMs(startedAt, runtime.now()) > 5_000) backoff.reset();
      await sleep(runtime, backoff.nextMs(), signal);
    }
  }

  /** One connection from its opening to its end. */
  async #listen(): Promise<'pooled' | 'ended'> {
    const { runtime, connectTimeoutMs, heartbeatMs = 5_000, channel } = this.#options;
    const { signal } = this.#stopping;
    const link = await PostgresLink.open(this.#url, runtime, connectTimeoutMs, signal);
    this.#link = link;
    const ended = new AbortController();
    link.onEnd(() => ended.abort());
    try {
      const processId = await this.#processId(link);
      // A pooler makes up a number of its own.
      if (processId !== link.processId && !(await this.#isHeard(link))) return 'pooled';
      link.onNotification((news) => {
        if (news.channel === channel && !signal.aborted) this.#hearing.heard(news.payload);
      });
      await link.query(`LISTEN ${channel}`, [], this.#deadlineMs());
      if (signal.aborted) return 'ended';
      this.#hearing.listening();
      while (!ended.signal.aborted) {
        await sleep(runtime, heartbeatMs, ended.signal);
        if (ended.signal.aborted) break;
        if ((await this.#processId(link)) !== processId)
          throw unreachable(
            'unreachable',
            'another session answers on the connection that listens',
          );
      }
      return 'ended';
    } finally {
      this.#link = undefined;
      link.end('nobody listens any more');
    }
  }

  async #processId(link: PostgresLink): Promise<number | undefined> {
    const { rows } = await link.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid',
      [],
      this.#deadlineMs(),
    );
    return rows[0]?.pid;
  }

  /** Tried on a channel that nobody else uses, since what is left of it in the pooler's session is somebody else's then. */
  async #isHeard(link: PostgresLink): Promise<boolean> {
    const { runtime } = this.#options;
    const trial = `tenure_trial_${runtime.randomHex(16)}`;
    const hearing = new AbortController();
    let isHeard = false;
    link.onEnd(() => hearing.abort());
    link.onNotification(({ channel }) => {
      isHeard ||= channel === trial;
      if (isHeard) hearing.abort();
    });
    await link.query(`LISTEN ${trial}`, [], this.#deadlineMs());
    await this.#hearing.notify(trial);
    await sleep(runtime, trialMs, hearing.signal);
    await link.query(`UNLISTEN ${trial}`, [], this.#deadlineMs());
    return isHeard;
  }

  #deadlineMs(): number {
    const { runtime, connectTimeoutMs } = this.#options;
    return runtime.now().monotonicMs + connectTimeoutMs;
  }

  /** Nobody is told anything any more. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#link?.end('nobody listens any more');
    await this.#loop;
  }
}
