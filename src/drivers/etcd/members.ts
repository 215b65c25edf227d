import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { kindOfServers } from '../../errors/error-kind.js';
import { ClosedError, OutcomeUnknownError, StoreMisconfiguredError } from '../../errors/index.js';
import { carriedKind } from '../../errors/kinds.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { Emitter } from '../../events/index.js';
import { elapsedMs, type Runtime, withDeadline } from '../../time/index.js';
import type { Endpoint } from '../endpoint.js';
import type { Deadline } from './deadline.js';
import {
  type EtcdFailure,
  failureError,
  failureOf,
  foreignAnswer,
  NoAnswer,
  notEtcd,
  OutOfTime,
  TokenExpired,
} from './errors.js';
import { type Exchange, exchange, greetingPath, type Reply } from './exchange.js';
import type { EtcdLocation } from './location.js';
import { Login } from './login.js';
import { type MemberFault, MemberOrder } from './member-order.js';
import { versionWarning } from './versions.js';

export interface EtcdEvents {
  /** A connection broke or was given up. */
  lost: undefined;
  /** Something an operator should know of: an old version, revisions that went back. */
  warning: { readonly message: string };
}

export interface MembersOptions {
  /** What errors call the closed object. */
  readonly what: string;
  readonly location: EtcdLocation;
  readonly runtime: Runtime;
}

interface CallParts {
  readonly path: string;
  readonly body: unknown;
  readonly what: string;
  readonly deadline: Deadline;
  /** Whether a second execution changes nothing more: only then another member is asked after one that hangs. */
  readonly isRepeatable: boolean;
}

const noTimeMs = 1;

/**
 * Speaks to a cluster's JSON gateway. A call asks one member after the other within its time: all of them if the request
 * was surely not executed or may be executed twice, else the first that it reaches.
 */
export class Members {
  readonly runtime: Runtime;
  readonly events = new Emitter<EtcdEvents>({ lost: true, warning: true });
  readonly #what: string;
  readonly #location: EtcdLocation;
  readonly #agent: HttpAgent;
  readonly #order: MemberOrder;
  /** Members whose connection has answered: what is sent over it then was not sent into the void. */
  readonly #proven = new Set<Endpoint>();
  /** Members that have answered since a connection to them was lost last. */
  readonly #answering = new Set<Endpoint>();
  readonly #warned = new Set<string>();
  readonly #sockets = new Map<Socket, () => boolean>();
  readonly #waitingCalls = new Set<(error: Error) => void>();
  readonly #login: Login;
  #isClosed = false;

  constructor({ what, location, runtime }: MembersOptions) {
    this.#what = what;
    this.#location = location;
    this.runtime = runtime;
    this.#order = new MemberOrder(location.endpoints);
    this.#login = new Login(
      location,
      (endpoint, body, what, deadline) => this.#authenticate(endpoint, body, what, deadline),
      (promise, what, deadline) => this.#within(promise, what, deadline),
    );
    const { tls } = location;
    const usual = { keepAlive: true, keepAliveMsecs: 10_000 };
    this.#agent =
      tls === undefined
        ? new HttpAgent(usual)
        : new HttpsAgent({
            ...usual,
            ca: tls.ca,
            cert: tls.cert,
            key: tls.key,
            servername: tls.serverName,
          });
  }

  get isTls(): boolean {
    return this.#location.tls !== undefined;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError(this.#what);
  }

  deadline(timeoutMs: number): Deadline {
    return { from: this.runtime.now(), timeoutMs };
  }

  remainingMs({ from, timeoutMs }: Deadline): number {
    return timeoutMs - elapsedMs(from, this.runtime.now());
  }

  /** The parts of a request that the caller keeps open by itself, such as a watch. Begins at the member asked first. */
  async stream(path: string, body: string, deadline: Deadline): Promise<Exchange> {
    this.throwIfClosed();
    const [endpoint] = this.#order.all as [Endpoint];
    const token = await this.#login.token(endpoint, 'a watch', deadline);
    return this.#parts(endpoint, 'POST', path, body, token);
  }

  /** @throws TenureError, or an error of `errors.ts` that the caller has to expect. */
  async call(parts: CallParts): Promise<unknown> {
    this.throwIfClosed();
    const endpoints = this.#order.all;
    const failures: NoAnswer[] = [];
    for (const [index, endpoint] of endpoints.entries()) {
      const remainingMs = this.remainingMs(parts.deadline);
      if (remainingMs < noTimeMs && index > 0) break;
      const left = endpoints.length - index;
      // What may not be repeated elsewhere gets more time, but not all: its caller may want to look what became of it.
      const share = left === 1 ? 1 : parts.isRepeatable ? 1 / left : 1 / 2;
      // Nor does one that was silent get what others left that answered that they cannot: they may be able to at the next call.
      const isLikelySilent = index > 0 && this.#order.isSilent(endpoint);
      const mostMs = isLikelySilent ? parts.deadline.timeoutMs / endpoints.length : remainingMs;
      const attempt = this.deadline(Math.max(noTimeMs, Math.min(remainingMs * share, mostMs)));
      try {
        return await this.#ask(endpoint, parts, attempt);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        this.avoid(endpoint, error.isSilence ? 'silent' : 'broken', index === 0);
        failures.push(error);
        if ((error.mayBeExecuted && !parts.isRepeatable) || this.#isClosed) break;
      }
    }
    throw this.#unanswered(parts.what, failures);
  }

  /** Calls under way end as unknown. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const closed = new NoAnswer('the client was closed', true);
    for (const giveUp of [...this.#waitingCalls]) giveUp(closed);
    for (const socket of this.#sockets.keys()) socket.destroy();
    this.#agent.destroy();
    this.events.removeAll();
  }

  /** What was silent or broke is asked after all that were not, until it answers. */
  avoid(endpoint: Endpoint, fault: MemberFault, wasFirst = true): void {
    this.#order.failed(endpoint, fault, wasFirst);
  }

  async #ask(endpoint: Endpoint, parts: CallParts, deadline: Deadline): Promise<unknown> {
    if (!this.#proven.has(endpoint)) await this.#prove(endpoint, deadline);
    const { what } = parts;
    for (let round = 0; ; round++) {
      const token = await this.#login.token(endpoint, what, deadline);
      const body = typeof parts.body === 'string' ? parts.body : JSON.stringify(parts.body);
      const request = this.#parts(endpoint, 'POST', parts.path, body, token);
      try {
        return this.#parse(endpoint, await this.#send(request, deadline), what);
      } catch (error) {
        if (!(error instanceof TokenExpired)) throw error;
        this.#login.forget();
        if (round > 0) throw this.#refusedLogin(endpoint, what);
      }
    }
  }

  /** A first harmless request: whatever fails here, nothing of the caller's was sent. Tells the version, too. */
  async #prove(endpoint: Endpoint, deadline: Deadline): Promise<void> {
    const request = this.#parts(endpoint, 'GET', greetingPath, '', undefined);
    let reply: Reply;
    try {
      reply = await this.#send(request, deadline);
    } catch (error) {
      if (error instanceof NoAnswer && !this.#isClosed) throw error.notExecuted();
      throw error;
    }
    const answer = parseJson(reply.text) as { etcdserver?: unknown } | undefined | null;
    const version = answer?.etcdserver;
    if (typeof version !== 'string') {
      // A balancer whose members are gone for now says so in its own words.
      const { status } = reply;
      if (status >= 500) throw foreignAnswer(addressOf(endpoint), status, false);
      throw notEtcd(addressOf(endpoint), status);
    }
    this.#proven.add(endpoint);
    this.noteAnswer(endpoint);
    const warning = versionWarning(version, addressOf(endpoint));
    if (warning !== undefined) this.warnOnce(warning);
  }

  /** Waits for what another call has sent, but not beyond the deadline of this one. */
  #within<Value>(promise: Promise<Value>, what: string, deadline: Deadline): Promise<Value> {
    const leftMs = Math.max(noTimeMs, this.remainingMs(deadline));
    return withDeadline(this.runtime, leftMs, what, promise).catch((error) => {
      throw error instanceof OutcomeUnknownError ? new OutOfTime(what) : error;
    });
  }

  async #authenticate(endpoint: Endpoint, body: string, what: string, deadline: Deadline) {
    const request = this.#parts(endpoint, 'POST', '/v3/auth/authenticate', body, undefined);
    return this.#parse(endpoint, await this.#send(request, deadline), what);
  }

  #refusedLogin(endpoint: Endpoint, what: string): StoreMisconfiguredError {
    return new StoreMisconfiguredError(
      `${addressOf(endpoint)} refused ${what}: it takes no token of a login that has just succeeded. Its members may disagree on --auth-token.`,
    );
  }

  #parts(
    endpoint: Endpoint,
    method: Exchange['method'],
    path: string,
    body: string,
    token: string | undefined,
  ): Exchange {
    return { endpoint, agent: this.#agent, isTls: this.isTls, method, path, body, token };
  }

  async #send(request: Exchange, deadline: Deadline): Promise<Reply> {
    this.throwIfClosed();
    const timeoutMs = Math.max(noTimeMs, this.remainingMs(deadline));
    let giveUp: (error: Error) => void = () => {};
    const closing = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    this.#waitingCalls.add(giveUp);
    const { endpoint } = request;
    try {
      const sending = exchange(this.runtime, request, timeoutMs, (socket) =>
        this.noteSocket(endpoint, socket),
      );
      const reply = await Promise.race([sending, closing]);
      this.#order.answered(endpoint);
      return reply;
    } catch (error) {
      if (error instanceof NoAnswer) this.#noteLoss(endpoint);
      throw error;
    } finally {
      this.#waitingCalls.delete(giveUp);
    }
  }

  /**
   * Follows a connection to its end, which is a loss unless whoever uses it last says otherwise: a watch that was stopped
   * ends the connection that it took over from earlier requests.
   */
  noteSocket(endpoint: Endpoint, socket: Socket, isLoss = () => true): void {
    const isKnown = this.#sockets.has(socket);
    this.#sockets.set(socket, isLoss);
    if (isKnown) return;
    socket.once('close', () => {
      const wasLost = this.#sockets.get(socket)?.() ?? true;
      this.#sockets.delete(socket);
      if (wasLost) this.#noteLoss(endpoint);
    });
  }

  noteAnswer(endpoint: Endpoint): void {
    this.#order.answered(endpoint);
    this.#answering.add(endpoint);
  }

  /** What a stream ended with. */
  noteFailure(failure: EtcdFailure | undefined): void {
    const isToken = failure && failureError(failure, '', '') instanceof TokenExpired;
    if (isToken) this.#login.forget();
  }

  #noteLoss(endpoint: Endpoint): void {
    // Once for all connections to a member that break together.
    this.#proven.delete(endpoint);
    if (!this.#answering.delete(endpoint) || this.#isClosed) return;
    this.events.emit('lost', undefined);
  }

  #parse(endpoint: Endpoint, { status, text }: Reply, what: string): unknown {
    const raw = parseJson(text);
    const answer = typeof raw === 'object' && raw !== null ? raw : {};
    const failure = failureOf(answer);
    if (failure !== undefined) throw failureError(failure, addressOf(endpoint), what);
    // Every answer of etcd has a header, in a stream one level below.
    if (status === 200 && ('header' in answer || 'result' in answer)) return answer;
    // Whoever answers so is looked at anew before the next request.
    this.#proven.delete(endpoint);
    throw foreignAnswer(addressOf(endpoint), status, true);
  }

  warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.events.emit('warning', { message });
  }

  #unanswered(what: string, failures: readonly NoAnswer[]) {
    const why = failures.map(({ message }) => message).join('; ');
    const kind = kindOfServers(failures.map((failure) => carriedKind(failure)));
    if (failures.some(({ mayBeExecuted }) => mayBeExecuted))
      return outcomeUnknown(kind, `${what} has no answer: ${why}. It may have been executed.`);
    return unreachable(kind, `${what} was not sent: ${why}.`);
  }
}

export function addressOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
