import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import {
  ClosedError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../errors/index.js';
import { Emitter } from '../../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import {
  type EtcdFailure,
  failureError,
  LeaseExists,
  NoAnswer,
  notEtcd,
  TokenExpired,
} from './errors.js';
import { type Exchange, exchange, type Reply } from './exchange.js';
import {
  type EtcdCompare,
  type EtcdOperation,
  safeInteger,
  type TxnReply,
  txnBody,
  txnReply,
} from './kv.js';
import type { EtcdEndpoint, EtcdLocation } from './location.js';
import { versionWarning } from './versions.js';

export interface EtcdEvents {
  /** A connection broke or was given up. */
  lost: undefined;
  /** Something an operator should know of: an old version, revisions that went back. */
  warning: { readonly message: string };
}

export interface EtcdClientOptions {
  /** What errors call the closed object. */
  readonly what: string;
  readonly location: EtcdLocation;
  readonly runtime: Runtime;
}

/** Until when a call settles. */
export interface Deadline {
  readonly from: Instant;
  readonly timeoutMs: number;
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
export class EtcdClient {
  readonly runtime: Runtime;
  readonly events = new Emitter<EtcdEvents>();
  readonly #what: string;
  readonly #location: EtcdLocation;
  readonly #agent: HttpAgent;
  /** The members, the one to ask first in front. */
  #order: EtcdEndpoint[];
  /** Members whose connection has answered: what is sent over it then was not sent into the void. */
  readonly #proven = new Set<EtcdEndpoint>();
  /** Members that have answered since a connection to them was lost last. */
  readonly #answering = new Set<EtcdEndpoint>();
  readonly #warned = new Set<string>();
  readonly #sockets = new Set<Socket>();
  readonly #waitingCalls = new Set<(error: Error) => void>();
  #token: Promise<string | undefined> | undefined;
  #highestRevision = 0;
  #isClosed = false;

  constructor({ what, location, runtime }: EtcdClientOptions) {
    this.#what = what;
    this.#location = location;
    this.runtime = runtime;
    this.#order = [...location.endpoints];
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

  /** Reads without a condition; may be sent twice. */
  async read(
    operations: readonly EtcdOperation[],
    what: string,
    deadline: Deadline,
  ): Promise<TxnReply> {
    const known = this.#highestRevision;
    const body = txnBody([], operations);
    const raw = await this.call({ path: '/v3/kv/txn', body, what, deadline, isRepeatable: true });
    return this.#noteRevision(txnReply(raw), known);
  }

  /** Executes `operations` if all comparisons hold, else `otherwise`. */
  async txn(
    compares: readonly EtcdCompare[],
    operations: readonly EtcdOperation[],
    what: string,
    deadline: Deadline,
    isRepeatable = false,
    otherwise: readonly EtcdOperation[] = [],
  ): Promise<TxnReply> {
    const known = this.#highestRevision;
    const body = txnBody(compares, operations, otherwise);
    const raw = await this.call({ path: '/v3/kv/txn', body, what, deadline, isRepeatable });
    return this.#noteRevision(txnReply(raw), known);
  }

  /** Makes a store lease of at least so many seconds. @returns how many it has got. */
  async grantLease(id: string, seconds: number, what: string, deadline: Deadline): Promise<number> {
    const body = JSON.stringify({ TTL: String(seconds), ID: id });
    const path = '/v3/lease/grant';
    try {
      const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
      return safeInteger((raw as { TTL?: string }).TTL);
    } catch (error) {
      if (!(error instanceof LeaseExists)) throw error;
      return (await this.keepAlive(id, what, deadline)) ?? 0;
    }
  }

  /** @returns the ttl in seconds; `undefined`: there is no such lease any more, which the server does not call an error. */
  async keepAlive(id: string, what: string, deadline: Deadline): Promise<number | undefined> {
    const body = JSON.stringify({ ID: id });
    const path = '/v3/lease/keepalive';
    const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
    const { result } = raw as { result?: { TTL?: string } };
    const seconds = safeInteger(result?.TTL);
    return seconds > 0 ? seconds : undefined;
  }

  /** @returns whole seconds that remain, and that it had; `undefined`: there is no such lease any more. */
  async timeToLive(
    id: string,
    what: string,
    deadline: Deadline,
  ): Promise<{ remaining: number; granted: number } | undefined> {
    const body = JSON.stringify({ ID: id });
    const path = '/v3/lease/timetolive';
    const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
    const { TTL, grantedTTL } = raw as { TTL?: string; grantedTTL?: string };
    const remaining = safeInteger(TTL);
    if (remaining < 0 || grantedTTL === undefined) return undefined;
    return { remaining, granted: safeInteger(grantedTTL) };
  }

  async revokeLease(id: string, what: string, deadline: Deadline): Promise<void> {
    const body = JSON.stringify({ ID: id });
    const path = '/v3/lease/revoke';
    await this.call({ path, body, what, deadline, isRepeatable: true });
  }

  /** The parts of a request that the caller keeps open by itself, such as a watch. Begins at the member asked first. */
  async stream(path: string, body: string, deadline: Deadline): Promise<Exchange> {
    this.throwIfClosed();
    const endpoint = this.#order[0] as EtcdEndpoint;
    const token = await this.#tokenFor(endpoint, 'a watch', deadline);
    return this.#parts(endpoint, 'POST', path, body, token);
  }

  /** @throws TenureError, or an error of `errors.ts` that the caller has to expect. */
  async call(parts: CallParts): Promise<unknown> {
    this.throwIfClosed();
    const endpoints = [...this.#order];
    const failures: NoAnswer[] = [];
    for (const [index, endpoint] of endpoints.entries()) {
      const remainingMs = this.remainingMs(parts.deadline);
      if (remainingMs < noTimeMs && index > 0) break;
      const left = endpoints.length - index;
      // What may not be repeated elsewhere gets more time, but not all: its caller may want to look what became of it.
      const share = left === 1 ? 1 : parts.isRepeatable ? 1 / left : 1 / 2;
      const attempt = this.deadline(Math.max(noTimeMs, remainingMs * share));
      try {
        return await this.#ask(endpoint, parts, attempt);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        this.avoid(endpoint);
        failures.push(error);
        if (error.mayBeExecuted && !parts.isRepeatable) break;
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
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
    this.events.removeAll();
  }

  /** What hung or broke is asked last from now on. */
  avoid(endpoint: EtcdEndpoint): void {
    this.#order = [...this.#order.filter((one) => one !== endpoint), endpoint];
  }

  async #ask(endpoint: EtcdEndpoint, parts: CallParts, deadline: Deadline): Promise<unknown> {
    if (!this.#proven.has(endpoint)) await this.#prove(endpoint, deadline);
    const { what } = parts;
    for (let round = 0; ; round++) {
      const token = await this.#tokenFor(endpoint, what, deadline);
      const body = typeof parts.body === 'string' ? parts.body : JSON.stringify(parts.body);
      const request = this.#parts(endpoint, 'POST', parts.path, body, token);
      try {
        return this.#parse(endpoint, await this.#send(request, deadline), what);
      } catch (error) {
        if (!(error instanceof TokenExpired)) throw error;
        this.#token = undefined;
        if (round > 0) throw this.#refusedLogin(endpoint, what);
      }
    }
  }

  /** A first harmless request: whatever fails here, nothing of the caller's was sent. Tells the version, too. */
  async #prove(endpoint: EtcdEndpoint, deadline: Deadline): Promise<void> {
    const request = this.#parts(endpoint, 'GET', '/version', '', undefined);
    let reply: Reply;
    try {
      reply = await this.#send(request, deadline);
    } catch (error) {
      if (error instanceof NoAnswer && !this.#isClosed) throw new NoAnswer(error.message, false);
      throw error;
    }
    const { etcdserver: version } = parseJson(reply.text) as { etcdserver?: unknown };
    if (typeof version !== 'string') throw notEtcd(addressOf(endpoint), reply.status);
    this.#proven.add(endpoint);
    this.noteAnswer(endpoint);
    const warning = versionWarning(version, addressOf(endpoint));
    if (warning !== undefined) this.#warnOnce(warning);
  }

  async #tokenFor(
    endpoint: EtcdEndpoint,
    what: string,
    deadline: Deadline,
  ): Promise<string | undefined> {
    const { user, password } = this.#location;
    if (user === undefined) return undefined;
    this.#token ??= this.#login(endpoint, user, password ?? '', what, deadline);
    const token = this.#token;
    try {
      return await token;
    } catch (error) {
      if (this.#token === token) this.#token = undefined;
      throw error;
    }
  }

  async #login(
    endpoint: EtcdEndpoint,
    name: string,
    password: string,
    what: string,
    deadline: Deadline,
  ): Promise<string | undefined> {
    const body = JSON.stringify({ name, password });
    const request = this.#parts(endpoint, 'POST', '/v3/auth/authenticate', body, undefined);
    try {
      const raw = this.#parse(endpoint, await this.#send(request, deadline), what);
      return (raw as { token?: string }).token;
    } catch (error) {
      if (error instanceof AuthNotEnabled) return undefined;
      // Nothing but the login was sent.
      if (error instanceof NoAnswer) throw new NoAnswer(error.message, false);
      throw error;
    }
  }

  #refusedLogin(endpoint: EtcdEndpoint, what: string): StoreMisconfiguredError {
    return new StoreMisconfiguredError(
      `${addressOf(endpoint)} refused ${what}: it takes no token of a login that has just succeeded. Its members may disagree on --auth-token.`,
    );
  }

  #parts(
    endpoint: EtcdEndpoint,
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
      return await Promise.race([sending, closing]);
    } catch (error) {
      if (error instanceof NoAnswer) this.#noteLoss(endpoint);
      throw error;
    } finally {
      this.#waitingCalls.delete(giveUp);
    }
  }

  /** Follows a connection to its end. */
  noteSocket(endpoint: EtcdEndpoint, socket: Socket, isLoss = () => true): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (isLoss()) this.#noteLoss(endpoint);
    });
  }

  noteAnswer(endpoint: EtcdEndpoint): void {
    this.#answering.add(endpoint);
  }

  /** What a stream ended with. */
  noteFailure(failure: EtcdFailure | undefined): void {
    const isToken = failure && failureError(failure, '', '') instanceof TokenExpired;
    if (isToken) this.#token = undefined;
  }

  #noteLoss(endpoint: EtcdEndpoint): void {
    // Once for all connections to a member that break together.
    this.#proven.delete(endpoint);
    if (!this.#answering.delete(endpoint) || this.#isClosed) return;
    this.events.emit('lost', undefined);
  }

  #parse(endpoint: EtcdEndpoint, { status, text }: Reply, what: string): unknown {
    const raw = parseJson(text);
    if (typeof raw !== 'object' || raw === null) throw notEtcd(addressOf(endpoint), status);
    const failure = failureOf(raw);
    if (failure === undefined) return raw;
    if (/authentication is not enabled/.test(failure.message)) throw new AuthNotEnabled();
    throw failureError(failure, addressOf(endpoint), what);
  }

  /** A later answer to a later question is never of an earlier revision, unless the cluster forgot some. */
  #noteRevision(reply: TxnReply, known: number): TxnReply {
    if (reply.revision < known) {
      this.#warnOnce(
        `the cluster went back from revision ${known} to ${reply.revision}: an old snapshot was restored, or data were lost. Terms begin below earlier ones; fences refuse them until the name is acquired above the term that they know. Restore with --bump-revision where etcdutl has it.`,
      );
      this.#highestRevision = reply.revision;
    } else this.#highestRevision = Math.max(this.#highestRevision, reply.revision);
    return reply;
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.events.emit('warning', { message });
  }

  #unanswered(what: string, failures: readonly NoAnswer[]) {
    const why = failures.map(({ message }) => message).join('; ');
    if (failures.some(({ mayBeExecuted }) => mayBeExecuted)) {
      return new OutcomeUnknownError(`${what} has no answer: ${why}. It may have been executed.`);
    }
    return new UnreachableError(`${what} was not sent: ${why}.`);
  }
}

class AuthNotEnabled extends Error {}

export function addressOf({ host, port }: EtcdEndpoint): string {
  return `${host}:${port}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What went wrong, in each of the forms that gateways of different versions write; `undefined`: nothing. */
export function failureOf(raw: object): EtcdFailure | undefined {
  const { error, message, code } = raw as { error?: unknown; message?: unknown; code?: unknown };
  if (typeof error === 'object' && error !== null) {
    const stream = error as { grpc_code?: number; code?: number; message?: string };
    return { code: stream.grpc_code ?? stream.code ?? unknown, message: stream.message ?? '' };
  }
  if (error === undefined && (typeof code !== 'number' || message === undefined)) return undefined;
  const words = String(message ?? error);
  return { code: typeof code === 'number' ? code : unknown, message: words };
}

/** What gRPC calls an error that is none of its own. */
const unknown = 2;
