import type { Known } from '../../errors/checks.js';
import { kindTold } from '../../errors/error-kind.js';
import {
  ClosedError,
  OptionError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  tooLateCode,
  UnreachableError,
} from '../../errors/index.js';
import { carriedKind, ofKind } from '../../errors/kinds.js';
import { unreachable } from '../../errors/unanswered.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, realRuntime, sleep } from '../../time/index.js';
import type { Endpoint } from '../endpoint.js';
import { durabilityWarnings, type RedisFacts } from './checks.js';
import type { RedisSource } from './client.js';
import { movedTo } from './cluster.js';
import { checkConnectTimeout } from './connect-timeout.js';
import { replyCode, replyError } from './errors.js';
import { greet } from './greeting.js';
import type { Link } from './link.js';
import { openLink } from './opening.js';
import type { Confirmation, Written } from './replicas.js';
import { leadsElsewhere, Retries } from './retries.js';
import type { RedisScript, ScriptCall } from './script.js';
import { type Runs, type RunTaker, ScriptRun } from './script-run.js';

export interface RedisConnectionOptions {
  readonly runtime?: Runtime | undefined;
  /** How long connecting, logging in and checking the server may take together. Default 2,000 ms. */
  readonly connectTimeoutMs?: number | undefined;
  /** On a cluster: a key; the connection goes to the node that owns its slot, and so must all keys that it is given. */
  readonly slotKey?: string | undefined;
}

export interface RedisConnectionEvents {
  /** Connected and checked. `facts` is absent if the server does not let us ask (see `warning`). */
  connected: { readonly address: string; readonly facts: RedisFacts | undefined };
  disconnected: { readonly address: string; readonly reason: string };
  /** Something a person should know that stops nothing. */
  warning: { readonly address: string; readonly message: string };
}

export const redisConnectionEventNames: Known<RedisConnectionEvents> = {
  ...{ connected: true, disconnected: true, warning: true },
};

/** A socket that does not live this long is not replaced at once: something closes them as fast as we open them. */
const shortestLinkMs = 100;

/**
 * A connection to one Redis server that replaces its socket when it must, and runs scripts under deadlines. Which server
 * that is may change with each socket: it is the one that the source finds, and that says it is the master.
 *
 * - Every call settles within its `timeoutMs`. Concurrent calls share the socket, pipelined.
 * - A call that was not answered in time gives up the socket; other calls in flight on it have an unknown outcome.
 * - A server is checked (role, eviction, version) after each connect, before anything else is sent to it.
 * - A script carries the server time after which it must not run, from an estimate that each reply refreshes.
 *
 * It connects at the first call, again at once when a socket is lost, and then only while somebody waits for it.
 */
export class RedisConnection implements EventSource<RedisConnectionEvents> {
  readonly #source: RedisSource;
  readonly #runtime: Runtime;
  readonly #connectTimeoutMs: number;
  readonly #slotKey: string;
  readonly #backoff: Backoff;
  readonly #events = new Emitter<RedisConnectionEvents>(redisConnectionEventNames);
  readonly #closing = new AbortController();
  readonly #runs: Runs = {
    nowMs: () => this.#nowMs(),
    tooLate: (run) => this.#tooLate(run),
    failed: (run, link, error) => void this.#failed(run, link, error),
  };
  #link: Link | undefined;
  #attempt: Promise<void> | undefined;
  /** Why the last attempt to connect failed; `undefined` after a success. */
  #failure: TenureError | undefined;
  #nextAttemptAtMs = 0;
  #address: string;
  /** Where the last node sent us, for the next attempt. */
  #movedTo: Endpoint | undefined;
  /** What was said about the server when it was last looked at. */
  #warnings: readonly string[] = [];

  constructor(source: RedisSource, options: RedisConnectionOptions = {}) {
    this.#source = source;
    this.#address = source.address;
    this.#runtime = options.runtime ?? realRuntime;
    this.#connectTimeoutMs = checkConnectTimeout(options.connectTimeoutMs);
    this.#slotKey = options.slotKey ?? '';
    // A failover takes its time, and then every moment counts.
    const limitMs = source.topology === 'single' ? 1_000 : 300;
    this.#backoff = new Backoff(this.#runtime, { firstMs: 50, limitMs });
  }

  /** That of the server, once there was one; before, what was configured. */
  get address(): string {
    return this.#address;
  }

  on<Name extends keyof RedisConnectionEvents>(
    name: Name,
    listener: (event: RedisConnectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /**
   * Runs a script and resolves with the value its body returned.
   *
   * What was certainly not executed and may pass is tried again while there is time; all else settles the call:
   *
   * @throws {UnreachableError} Not executed: no connection in time. @throws {OutcomeUnknownError} Sent, not answered.
   * @throws {StoreRefusedError} Answered, not executed ({@link tooLateCode} if it arrived after its deadline).
   * @throws {StoreMisconfiguredError} See `checks.ts`. @throws {ClosedError} @throws {OptionError} No ioredis here.
   */
  run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const taker: RunTaker = { resolve: ({ value }) => resolve(value), reject };
      this.begin(script, { keys, args }, timeoutMs, undefined, taker);
    });
  }

  /**
   * The same, and asks directly after it, on the same socket, how many replicas have what it wrote: on any other, WAIT
   * would count for other writes. It holds up what is sent on the socket after it, until they have it or its time is over.
   *
   * @throws as {@link run}. What becomes of the replicas is told by `shortfall`, which never rejects.
   */
  runConfirmed(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
    confirmation: Confirmation,
  ): Promise<Written> {
    return new Promise((resolve, reject) => {
      const taker: RunTaker = {
        resolve: ({ value, shortfall = Promise.resolve(undefined) }) =>
          resolve({ value, shortfall }),
        reject,
      };
      this.begin(script, { keys, args }, timeoutMs, confirmation, taker);
    });
  }

  /** {@link run} or, with a confirmation, {@link runConfirmed} for who needs no promise: each costs every write of it. */
  begin(
    script: RedisScript,
    call: ScriptCall,
    timeoutMs: number,
    confirmation: Confirmation | undefined,
    taker: RunTaker,
  ): void {
    const nowMs = this.#nowMs();
    const deadlineMs = nowMs + timeoutMs;
    const run = new ScriptRun(this.#runs, script, call, deadlineMs, confirmation, taker);
    // What is usual goes without waiting for anything.
    if (this.#link?.alive) run.sendOn(this.#link, nowMs);
    else void this.#sendOnNext(run);
  }

  async #sendOnNext(run: ScriptRun): Promise<void> {
    try {
      const link = await this.#untilLink(run.deadlineMs, run.what);
      run.sendOn(link, this.#nowMs());
    } catch (error) {
      run.reject(error as Error);
    }
  }

  #tooLate(run: ScriptRun): void {
    if (this.#retriesOf(run).afterTooLate()) void this.#sendOnNext(run);
    else
      run.reject(
        new StoreRefusedError(
          tooLateCode,
          `${run.what} reached ${this.address} after its deadline and was not executed. Allow it more time.`,
        ),
      );
  }

  async #failed(run: ScriptRun, link: Link, error: Error): Promise<void> {
    // Answers that came together are all taken before one of them ends the link: what was answered is not unknown.
    await undefined;
    if (!(error instanceof UnreachableError)) {
      if (replyCode(error) === undefined) return run.reject(error);
      const { topology } = this.#source;
      const pauseMs = this.#retriesOf(run).pauseAfter(error);
      if (leadsElsewhere(error, topology)) this.#leave(link, error);
      if (pauseMs === undefined)
        return run.reject(replyError(error, run.what, link.address, topology));
      await sleep(this.#runtime, pauseMs, this.#closing.signal);
    }
    await this.#sendOnNext(run);
  }

  #retriesOf(run: ScriptRun): Retries {
    run.retries ??= new Retries(this.#runtime, run.deadlineMs, this.#source.topology);
    return run.retries;
  }

  #leave(link: Link, reply: Error): void {
    if (this.#link === link) this.#movedTo = movedTo(reply.message);
    link.end(`it answered with ${replyCode(reply)}`, kindTold(reply));
  }

  /** The live link, or the next one that comes up before the deadline. */
  async #untilLink(deadlineMs: number, what: string): Promise<Link> {
    for (;;) {
      if (this.#closing.signal.aborted) throw new ClosedError(`the connection to ${this.address}`);
      if (this.#link?.alive) return this.#link;
      // The client may know before it tells us; nothing else is to be opened while this one counts as open.
      this.#link?.end('the connection was lost', 'reset');
      const remainingMs = deadlineMs - this.#nowMs();
      if (this.#attempt === undefined) this.#throwIfPointless();
      if (remainingMs <= 0) throw this.#unreachable(what);
      await this.#settledOrTimeout(this.#startAttempt(), remainingMs);
      this.#throwIfPointless();
    }
  }

  /** Waiting does not help against a wrong password or a missing package: whoever asks learns it at once. */
  #throwIfPointless(): void {
    const failure = this.#failure;
    if (failure instanceof OptionError) throw failure;
    if (failure instanceof StoreMisconfiguredError && this.#nowMs() < this.#nextAttemptAtMs)
      throw ofKind(carriedKind(failure), new StoreMisconfiguredError(failure.message));
  }

  #unreachable(what: string): UnreachableError {
    return unreachable(
      kindTold(this.#failure) ?? 'timeout',
      `${what} was not sent: no connection to ${this.address} in time. ${this.#failure?.message ?? 'It has not answered yet.'}`,
      this.#failure,
    );
  }

  async #settledOrTimeout(attempt: Promise<void>, timeoutMs: number): Promise<void> {
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    await Promise.race([attempt, sleep(this.#runtime, timeoutMs, waiting.signal)]);
    stop();
  }

  /** One attempt at a time, not before its back-off is over. It never rejects; see `#failure`. */
  #startAttempt(): Promise<void> {
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(): Promise<void> {
    const { signal } = this.#closing;
    await sleep(this.#runtime, Math.max(0, this.#nextAttemptAtMs - this.#nowMs()), signal);
    if (signal.aborted) return;
    try {
      const deadlineMs = this.#nowMs() + this.#connectTimeoutMs;
      const search = { signal, deadlineMs, runtime: this.#runtime, slotKey: this.#slotKey };
      const redirect = this.#movedTo;
      this.#movedTo = undefined;
      await openLink(this.#source, { ...search, movedTo: redirect }, (link, untilMs) => {
        link.onEnd((reason) => this.#linkEnded(link, reason));
        return this.#accept(link, untilMs);
      });
    } catch (error) {
      this.#failure =
        error instanceof TenureError ? error : unreachable(kindTold(error), String(error));
      this.#nextAttemptAtMs = this.#nowMs() + this.#backoff.nextMs();
    }
  }

  /** Nothing may be granted before this is through. */
  async #accept(link: Link, deadlineMs: number): Promise<void> {
    const { topology } = this.#source;
    const { facts, warning } = await greet(link, topology, this.#runtime, deadlineMs);
    this.#address = link.address;
    this.#link = link;
    this.#failure = undefined;
    this.#backoff.reset();
    this.#nextAttemptAtMs = this.#nowMs() + shortestLinkMs;
    if (warning !== undefined) this.#warn(warning);
    this.#events.emit('connected', { address: this.address, facts });
    if (facts !== undefined) this.#warnOf(facts);
  }

  /** Once for each state of the server, not at every connect. */
  #warnOf(facts: RedisFacts): void {
    const warnings = durabilityWarnings(facts);
    const isNew = (warning: string) => !this.#warnings.includes(warning);
    const fresh = warnings.filter(isNew);
    this.#warnings = warnings;
    for (const message of fresh) this.#warn(message);
  }

  #warn(message: string): void {
    this.#events.emit('warning', { address: this.address, message });
  }

  #linkEnded(link: Link, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    if (this.#closing.signal.aborted) return;
    this.#events.emit('disconnected', { address: this.address, reason });
    // At once, so that the next call finds a connection; if that fails, the next call tries again.
    void this.#startAttempt();
  }

  /** For several runs under one timeout: what is left of it for the next one. */
  budget(timeoutMs: number): () => number {
    const deadlineMs = this.#nowMs() + timeoutMs;
    return () => Math.max(0, deadlineMs - this.#nowMs());
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }

  /** Ends the socket and every call. Calls in flight have an unknown outcome; later ones are refused. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#link?.end('it was closed here');
    await this.#attempt;
  }
}
