import { kindTold } from '../../errors/error-kind.js';
import {
  ClosedError,
  OptionError,
  StoreMisconfiguredError,
  type TenureError,
  type UnreachableError,
} from '../../errors/index.js';
import { carriedKind, ofKind } from '../../errors/kinds.js';
import { unreachable } from '../../errors/unanswered.js';
import { Emitter, onAbort, type Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, ServerClock, sleep } from '../../time/index.js';
import { runCheck } from './check.js';
import { classifyPostgresError } from './errors.js';
import { LineQueue } from './line-queue.js';
import {
  type Line,
  type LineEvents,
  type Lines,
  lineEventNames,
  type ServerCheck,
} from './lines.js';
import { PostgresLink } from './link.js';
import { addressOf } from './pg-package.js';

export interface OwnLinesOptions {
  readonly runtime: Runtime;
  /** How long connecting, logging in and the check may take together. */
  readonly connectTimeoutMs: number;
  /** The most connections; one more for who is urgent. */
  readonly maxConnections: number;
  readonly check: ServerCheck;
}

/** A connection that nobody has used for so long is closed, unless it is the only one. */
const idleLimitMs = 30_000;

/**
 * A few connections of our own to one server, opened as they are needed.
 *
 * It connects at the first call, again at once when the last connection was lost, and then only while somebody waits.
 */
export class OwnLines implements Lines {
  readonly address: string;
  readonly #url: string;
  readonly #options: OwnLinesOptions;
  readonly #events = new Emitter<LineEvents>(lineEventNames);
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;
  readonly #open = new Set<OwnLine>();
  #idle: OwnLine[] = [];
  readonly #queue: LineQueue<OwnLine>;
  readonly #attempts = new Set<Promise<void>>();
  /** Why the last attempt to connect failed; `undefined` after a success. */
  #failure: TenureError | undefined;
  #nextAttemptAtMs = 0;
  #warnings: readonly string[] = [];

  constructor(url: string, options: OwnLinesOptions) {
    this.#url = url;
    this.#options = options;
    this.#queue = new LineQueue(options.runtime);
    this.#backoff = new Backoff(options.runtime, { firstMs: 50, limitMs: 1_000 });
    this.address = addressOf(url);
  }

  on<Name extends keyof LineEvents>(
    name: Name,
    listener: (event: LineEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  async take(what: string, deadlineMs: number, isUrgent: boolean): Promise<Line> {
    this.#throwIfClosed();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const failure = this.#pointless();
    if (failure !== undefined) throw failure;
    const waitMs = Math.max(0, deadlineMs - this.nowMs());
    const line = this.#queue.wait(waitMs, isUrgent, () => this.#unreachable(what));
    this.#openMore();
    return await line;
  }

  /** Waiting does not help against a wrong password or a missing schema: whoever asks learns it at once. */
  #pointless(): TenureError | undefined {
    const failure = this.#failure;
    if (failure instanceof OptionError) return failure;
    const isFresh = this.nowMs() < this.#nextAttemptAtMs && this.#attempts.size === 0;
    if (!(failure instanceof StoreMisconfiguredError) || !isFresh) return undefined;
    return ofKind(
      carriedKind(failure),
      new StoreMisconfiguredError(failure.message, failure.cause),
    );
  }

  #unreachable(what: string): UnreachableError {
    const isFull = this.#open.size >= this.#options.maxConnections && this.#failure === undefined;
    const why = isFull
      ? 'all connections were in use'
      : `no connection to ${this.address} in time. ${this.#failure?.message ?? ''}`.trimEnd();
    const kind = kindTold(this.#failure) ?? (isFull ? 'unreachable' : 'timeout');
    return unreachable(kind, `${what} was not sent: ${why}`, this.#failure);
  }

  /** As many attempts as there is somebody to wait for one; after a failure one at a time. */
  #openMore(): void {
    const { maxConnections } = this.#options;
    const limit = maxConnections + (this.#queue.hasUrgent ? 1 : 0);
    const wanted = Math.min(this.#failure === undefined ? limit : 1, this.#queue.length);
    while (this.#attempts.size < wanted && this.#open.size + this.#attempts.size < limit)
      this.#startAttempt();
  }

  #startAttempt(): void {
    const attempt = this.#connect().finally(() => {
      this.#attempts.delete(attempt);
      if (!this.#closing.signal.aborted) this.#openMore();
    });
    this.#attempts.add(attempt);
  }

  /** Never rejects; see `#failure`. */
  async #connect(): Promise<void> {
    const { signal } = this.#closing;
    const { runtime, connectTimeoutMs } = this.#options;
    await sleep(runtime, Math.max(0, this.#nextAttemptAtMs - this.nowMs()), signal);
    if (signal.aborted) return;
    try {
      const deadlineMs = this.nowMs() + connectTimeoutMs;
      const link = await PostgresLink.open(this.#url, runtime, connectTimeoutMs, signal);
      await this.#accept(new OwnLine(link, this), deadlineMs);
    } catch (error) {
      if (signal.aborted) return;
      this.#failed(classifyPostgresError(error, 'connect', `connecting to ${this.address}`));
    }
  }

  async #accept(line: OwnLine, deadlineMs: number): Promise<void> {
    const { runtime, check } = this.#options;
    let warnings: readonly string[];
    const stop = onAbort(this.#closing.signal, () => line.link.end('it was closed here'));
    try {
      warnings = await runCheck(line, check, runtime, deadlineMs);
    } catch (error) {
      line.link.end('the server was not accepted');
      throw error;
    } finally {
      stop();
    }
    if (!line.link.isAlive) throw unreachable('reset', 'the connection was lost at once');
    this.#failure = undefined;
    this.#backoff.reset();
    this.#open.add(line);
    line.link.onEnd((reason) => this.#ended(line, reason));
    this.#events.emit('connected', { address: this.address });
    const known = this.#warnings;
    this.#warnings = warnings;
    for (const message of warnings)
      if (!known.includes(message))
        this.#events.emit('warning', { address: this.address, message });
    this.give(line);
  }

  #failed(failure: TenureError): void {
    this.#failure = failure;
    this.#nextAttemptAtMs = this.nowMs() + this.#backoff.nextMs();
    if (!(failure instanceof StoreMisconfiguredError || failure instanceof OptionError)) return;
    this.#queue.failAll(failure);
  }

  /** @internal A line that is free again. */
  give(line: OwnLine): void {
    if (!line.link.isAlive) return;
    if (this.#queue.offer(line)) return;
    line.idleSinceMs = this.nowMs();
    this.#idle.push(line);
    this.#closeIdle();
  }

  #closeIdle(): void {
    const old = this.#idle.filter(({ idleSinceMs }) => idleSinceMs < this.nowMs() - idleLimitMs);
    for (const line of old.slice(0, this.#open.size - 1)) {
      this.#open.delete(line);
      this.#idle = this.#idle.filter((other) => other !== line);
      line.link.end('it was idle');
    }
  }

  #ended(line: OwnLine, reason: string): void {
    this.#idle = this.#idle.filter((other) => other !== line);
    if (!this.#open.delete(line) || this.#closing.signal.aborted) return;
    // Something that closes connections as fast as they are opened is not to be met by a loop.
    this.#nextAttemptAtMs = Math.max(this.#nextAttemptAtMs, line.openedAtMs + shortestLifeMs);
    this.#events.emit('disconnected', { address: this.address, reason });
    // At once, so that the next call finds a connection; if that fails, the next call tries again.
    if (this.#open.size + this.#attempts.size === 0) this.#startAttempt();
  }

  #throwIfClosed(): void {
    if (this.#closing.signal.aborted) throw new ClosedError(`the connection to ${this.address}`);
  }

  /** @internal */
  nowMs(): number {
    return this.#options.runtime.now().monotonicMs;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.failAll(new ClosedError(`the connection to ${this.address}`));
    for (const line of [...this.#open]) line.link.end('it was closed here');
    await Promise.all(this.#attempts);
    this.#events.removeAll();
  }
}

const shortestLifeMs = 100;

class OwnLine implements Line {
  readonly link: PostgresLink;
  readonly clock = new ServerClock();
  readonly openedAtMs: number;
  idleSinceMs = 0;
  readonly #lines: OwnLines;

  constructor(link: PostgresLink, lines: OwnLines) {
    this.link = link;
    this.#lines = lines;
    this.openedAtMs = lines.nowMs();
  }

  query<Row extends object>(text: string, values: unknown[], deadlineMs: number) {
    return this.link.query<Row>(text, values, deadlineMs);
  }

  done(): void {
    this.#lines.give(this);
  }

  abandon(reason: string): void {
    this.link.end(reason);
  }
}
