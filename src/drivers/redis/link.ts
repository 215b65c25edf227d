import { constants } from 'node:buffer';
import {
  OptionError,
  type OutcomeUnknownError,
  StoreMisconfiguredError,
} from '../../errors/index.js';
import { type ErrorKind, ofKind } from '../../errors/kinds.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { type Runtime, ServerClock } from '../../time/index.js';
import { connectFailure, connectFailureKind } from '../connect-failure.js';
import {
  callTaking,
  NotSentError,
  type RedisClient,
  type RedisNode,
  type ReplyTaker,
} from './client.js';
import { EarliestDeadline } from './earliest-deadline.js';
import { replyCode, replyError } from './errors.js';

/** Who asked for something, and is told what became of it: by one of the two methods, once. */
export interface Caller {
  /** What was asked, for messages. */
  readonly what: string;
  /** By when (monotonic) it is told. */
  readonly deadlineMs: number;
  answered(reply: unknown): void;
  /** @param error as {@link Link.call} rejects with. */
  failed(error: Error): void;
}

/**
 * One socket to a server, from its opening to its end.
 *
 * A link never reconnects: what was sent on it and not answered when it ends has an unknown outcome, at once and for
 * good. Every call settles by its own deadline even if the client library forgets it (ioredis#2193), and a call that
 * misses its deadline ends the link: its late reply must not meet a later request, nor must a later request queue
 * behind it.
 */
export class Link {
  readonly address: string;
  /** Read by scripts, which round it down. */
  readonly clock = new ServerClock(1);
  /** Digests of the scripts whose text went over this link, so that the server knows them. */
  readonly scripts = new Set<string>();
  readonly #client: RedisClient;
  readonly #isTls: boolean;
  readonly #runtime: Runtime;
  readonly #pending = new Set<Caller>();
  readonly #deadlines: EarliestDeadline<Caller>;
  readonly #endListeners = new Set<(reason: string) => void>();
  #endReason: string | undefined;
  #endKind: ErrorKind | undefined;
  #turn: 'quiet' | 'begun' | 'corked' = 'quiet';
  /** The last thing the client complained about: why a connection attempt failed. */
  #complaint: Error | undefined;

  private constructor(client: RedisClient, { address, isTls }: RedisNode, runtime: Runtime) {
    this.#client = client;
    this.address = address;
    this.#isTls = isTls ?? address.startsWith('rediss:');
    this.#deadlines = new EarliestDeadline(runtime, this.#pending, ({ what }) =>
      this.end(`${what} was not answered in time`, 'timeout'),
    );
    this.#runtime = runtime;
    client.on('error', (error: Error) => {
      this.#complaint = error;
    });
    client.on('end', () => this.end('the server closed the connection', 'reset'));
  }

  /**
   * Connects and logs in, within `timeoutMs`. The signal ends the link, also later: between two steps of its opening
   * nobody else knows of it yet.
   *
   * @throws {UnreachableError} or, if the server turned us away, what `replyError` makes of its answer.
   */
  static async open(
    node: RedisNode,
    runtime: Runtime,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Link> {
    const client = await node.open(Math.ceil(timeoutMs));
    const link = new Link(client, node, runtime);
    const abort = () => link.end('it was closed here');
    signal.addEventListener('abort', abort);
    link.onEnd(() => signal.removeEventListener('abort', abort));
    const timer = runtime.setTimer(timeoutMs, () =>
      link.end(`no answer within ${Math.round(timeoutMs)} ms`, 'timeout'),
    );
    try {
      await link.#connect(signal);
    } finally {
      timer.cancel();
    }
    return link;
  }

  #connect(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(this.#connectError());
      this.#endListeners.add(fail);
      const done = () => {
        this.#endListeners.delete(fail);
        // A refused SELECT is only complained about, and the connection would go on in database 0.
        if (this.#complaint !== undefined) this.end(this.#complaint.message);
        if (this.#endReason === undefined) resolve();
        else fail();
      };
      if (signal.aborted) this.end('it was closed here');
      // Its rejection says only "closed"; the reason came as an event before.
      else this.#client.connect().then(done, () => this.end('the connection failed'));
    });
  }

  #connectError(): Error {
    const complaint = this.#complaint;
    // The answer to the SELECT that follows the login.
    if (complaint !== undefined && /\bDB index\b/.test(complaint.message))
      return new StoreMisconfiguredError(
        `${this.address} has no database of that number: change the one in the URL (CONFIG GET databases says how many there are), or leave it out.`,
      );
    if (complaint !== undefined && replyCode(complaint) !== undefined)
      return replyError(complaint, 'the login', this.address);
    const isTls = this.#isTls;
    const spoken = {
      protocol: 'Redis',
      isTls,
      otherwise: isTls ? 'redis for rediss in the URL' : 'rediss for redis in the URL',
    };
    const reason = complaint ?? ofKind(this.#endKind, new Error(this.#endReason));
    const why = connectFailure(reason, spoken);
    return unreachable(
      connectFailureKind(reason),
      `could not connect to ${this.address}: ${why}.`,
      complaint,
    );
  }

  get alive(): boolean {
    return this.#endReason === undefined && this.#client.status === 'ready';
  }

  /** Calls `listener` once when the link ends; never if it ended before. */
  onEnd(listener: (reason: string) => void): void {
    this.#endListeners.add(listener);
  }

  onMessage(listener: (channel: string, message: string) => void): void {
    this.#client.on('message', listener);
  }

  /**
   * Sends one command and resolves with the reply. Calls made at the same time share the socket and do not wait for
   * each other. Rejects with the client's own `ReplyError` if the server answers with an error.
   *
   * @throws {UnreachableError} if nothing was sent. @throws {OutcomeUnknownError} if no answer came by the deadline
   * (`deadlineMs`, monotonic) or before the link ended.
   */
  call(
    command: string,
    args: (string | number)[],
    what: string,
    deadlineMs: number,
  ): Promise<unknown> {
    return new Promise((answered, failed) => {
      const nowMs = this.#runtime.now().monotonicMs;
      const caller = { what, deadlineMs, answered, failed };
      this.#send(callTaking, command, args, caller, nowMs);
    });
  }

  /**
   * {@link call} for who needs no promise of it: scripts pay for each with every write. Not for a command whose answers are
   * several.
   *
   * @param nowMs monotonic.
   */
  send(command: string, args: (string | number)[], caller: Caller, nowMs: number): void {
    this.#send(sendTaking, command, args, caller, nowMs);
  }

  #send(
    way: typeof callTaking,
    command: string,
    args: (string | number)[],
    caller: Caller,
    nowMs: number,
  ): void {
    const reason = this.#reasonNotToSend(args, caller);
    if (reason !== undefined) {
      caller.failed(reason);
      return;
    }
    this.#pending.add(caller);
    this.#beginTurn();
    try {
      way(this.#client, command, args, new Reply(this, caller));
    } catch {
      // Nobody knows how much of it has left, nor whether its answer is waited for in its place.
      this.end(`the client failed while it sent ${caller.what}`);
    }
    // What is done after it was sent is done while the server works.
    if (this.#pending.has(caller)) this.#deadlines.keep(caller.deadlineMs, nowMs);
  }

  #reasonNotToSend(args: readonly (string | number)[], { what }: Caller): Error | undefined {
    if (!this.alive)
      return unreachable('unreachable', `${this.address} is not connected; ${what} was not sent`);
    const length = lengthOf(args);
    if (length <= constants.MAX_STRING_LENGTH) return undefined;
    const remedy = 'send it in several parts; nothing was sent';
    return new OptionError(what, length, 'is longer than one message can be', remedy);
  }
  /** @internal */
  answered(caller: Caller, reply: unknown): void {
    if (this.#pending.delete(caller)) caller.answered(reply);
  }

  /**
   * The first call of a turn of the event loop is sent at once, and those that follow in the same turn leave as one. Several
   * replies that come together set off several calls, and the server would be woken for each of them.
   */
  #beginTurn(): void {
    if (this.#turn === 'corked') return;
    const { stream } = this.#client;
    if (stream?.cork === undefined) return;
    if (this.#turn === 'begun') {
      this.#turn = 'corked';
      stream.cork();
      return;
    }
    this.#turn = 'begun';
    process.nextTick(endTurn, this);
  }

  /** @internal */
  endTurn(): void {
    if (this.#turn === 'corked') this.#client.stream?.uncork?.();
    this.#turn = 'quiet';
  }

  /** @internal */
  failed(caller: Caller, error: Error): void {
    if (replyCode(error) !== undefined) this.#settle(caller, error);
    else if (error instanceof NotSentError || /enableOfflineQueue/.test(error.message)) {
      const why = `${caller.what} was not sent to ${this.address}`;
      this.#settle(caller, unreachable('unreachable', why));
      // Half-closed: the client has not noticed yet, and would refuse the next call as well.
      this.end('the socket takes nothing more');
    } else this.#settle(caller, this.#unknown(caller, 'the connection was lost', 'reset'));
  }

  #settle(caller: Caller, error: Error): void {
    if (this.#pending.delete(caller)) caller.failed(error);
  }

  #unknown({ what }: Caller, reason: string, kind: ErrorKind | undefined): OutcomeUnknownError {
    return outcomeUnknown(
      kind,
      `${what} was sent to ${this.address}, and then ${reason}: it may or may not have been executed.`,
    );
  }

  /**
   * Ends the link and everything that waits on it. Safe to call twice.
   *
   * @param kind of what that is to them, if it is known.
   */
  end(reason: string, kind?: ErrorKind): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#endKind = kind;
    this.#client.disconnect();
    // `disconnect` says goodbye and waits for the other side, which may be frozen, and still delivers what is buffered.
    this.#client.stream?.destroy();
    this.#deadlines.stop();
    for (const caller of [...this.#pending])
      this.#settle(caller, this.#unknown(caller, reason, kind));
    for (const listener of [...this.#endListeners]) listener(reason);
    this.#endListeners.clear();
  }
}

/** The reply to what one caller asked. */
class Reply implements ReplyTaker {
  readonly #link: Link;
  readonly #caller: Caller;

  constructor(link: Link, caller: Caller) {
    this.#link = link;
    this.#caller = caller;
  }

  resolve(reply: unknown): void {
    this.#link.answered(this.#caller, reply);
  }

  reject(error: Error): void {
    this.#link.failed(this.#caller, error);
  }
}

function endTurn(link: Link): void {
  link.endTurn();
}

function sendTaking(
  client: RedisClient,
  command: string,
  args: (string | number)[],
  taker: ReplyTaker,
): void {
  if (client.sendTaking !== undefined) client.sendTaking(command, args, taker);
  else callTaking(client, command, args, taker);
}

/** What stands around a word on its way, or a number and that. */
const aroundLength = 40;

/** The length of the text that carries them, at most: the clients make one of them all, and a text has a limit. */
function lengthOf(words: readonly (string | number)[]): number {
  let length = aroundLength * (words.length + 1);
  for (const word of words) if (typeof word === 'string') length += word.length;
  return length;
}
