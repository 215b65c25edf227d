import { connect, type Socket } from 'node:net';
import { kindTold } from '../../errors/error-kind.js';
import { type ErrorKind, ofKind } from '../../errors/kinds.js';
import type { Runtime, Timer } from '../../time/index.js';
import { connectFailure, connectFailureKind, type Spoken } from '../connect-failure.js';
import { NoAnswerError } from '../deadline.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  SessionExpiredError,
  ZooKeeperError,
} from './errors.js';
import { JuteReader, JuteWriter } from './jute.js';
import {
  type AccessRule,
  anybody,
  creatorOnly,
  eventType,
  fixedXid,
  type MultiAnswer,
  type NodeContent,
  type NodeOperation,
  type NodeOperationResult,
  opCode,
  readMulti,
  readStat,
  writeCreate,
  writeMulti,
  zxidOf,
} from './protocol.js';

/** A session as the server knows it: whoever has both can go on with it over another connection. */
export interface SessionTicket {
  readonly id: bigint;
  /** A capability: never log it. */
  readonly password: Buffer;
}

export interface ConnectionOptions {
  readonly runtime: Runtime;
  readonly server: Endpoint;
  /** `user:password` for the scheme `digest`. */
  readonly login?: string | undefined;
  /** What is asked for; the server decides. */
  readonly sessionTimeoutMs: number;
  /** Go on with this session instead of a new one. */
  readonly ticket?: SessionTicket | undefined;
  /** How long the whole way to a session may take. */
  readonly connectTimeoutMs: number;
}

export interface NodeEvent {
  readonly path: string;
}

type Watch = (event: NodeEvent) => void;

interface Pending {
  readonly xid: number;
  readonly sentAtMs: number;
  settle(reader: JuteReader, code: number): void;
  fail(error: Error): void;
}

/** Of a session's time-out: how often it is pinged, and how long an answer may take. */
const pingShare = 1 / 6;
const silenceShare = 1 / 2;
/** On a busy machine an answer may take this long for that reason alone; but never longer than two thirds. */
const patienceMs = 200;

const spoken: Spoken = { protocol: 'ZooKeeper', isTls: false };

/** No packet of a server that answers tenure is longer. */
const longestPacketBytes = 16 * 1024 * 1024;
const noTicket: SessionTicket = { id: 0n, password: Buffer.alloc(16) };

/**
 * One TCP connection to one server, with a session on it.
 *
 * Requests are answered in the order in which they were sent. Nothing is queued while there is no connection, nothing is
 * sent a second time, and no reconnect is made: what was in flight when it ends rejects with {@link ConnectionLostError}.
 * A server that stops answering is noticed after half of the session's time-out, by this process's monotonic clock: so
 * there is time left to go on with the session elsewhere.
 */
export class ZooKeeperConnection {
  readonly server: Endpoint;
  readonly ticket: SessionTicket;
  /** The time-out that the server granted. */
  readonly sessionTimeoutMs: number;
  /** The highest transaction number that an answer carried. */
  lastZxid = 0;
  readonly #runtime: Runtime;
  readonly #socket: Socket;
  readonly #access: AccessRule;
  readonly #pending: Pending[] = [];
  readonly #dataWatches = new Map<string, Set<Watch>>();
  readonly #childWatches = new Map<string, Set<Watch>>();
  readonly #closeListeners = new Set<(reason: string) => void>();
  #xid = 1;
  #pingTimer: Timer | undefined;
  #pingSentAtMs = 0;
  #heardMs: number;
  #closedBecause: string | undefined;
  #closedByKind: ErrorKind | undefined;

  private constructor(
    { runtime, server, login }: ConnectionOptions,
    socket: Socket,
    packets: PacketReader,
    granted: { readonly ticket: SessionTicket; readonly timeoutMs: number },
  ) {
    this.#runtime = runtime;
    this.server = server;
    this.ticket = granted.ticket;
    this.sessionTimeoutMs = granted.timeoutMs;
    this.#socket = socket;
    this.#access = login === undefined ? anybody : creatorOnly;
    this.#heardMs = this.#nowMs();
    socket.removeAllListeners('error');
    socket.removeAllListeners('close');
    socket.on('error', (error) => this.destroy(error.message, kindTold(error)));
    socket.on('close', () => this.destroy('the server closed the connection'));
    packets.onPacket = (packet) => this.#received(packet);
    this.#schedulePing();
  }

  /**
   * @throws {ConnectionLostError} if there is no session within the time; what was asked of the server is nothing.
   * @throws {SessionExpiredError} if the session of the ticket is over.
   */
  static async open(options: ConnectionOptions): Promise<ZooKeeperConnection> {
    const { runtime, server, login, connectTimeoutMs } = options;
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    const packets = new PacketReader();
    socket.on('data', (bytes: Buffer) => packets.push(bytes, socket));
    let timer: Timer | undefined;
    try {
      return await new Promise<ZooKeeperConnection>((resolve, reject) => {
        const fail = (why: unknown) => {
          const words = `${endpointText(server)}: ${connectFailure(why, spoken)}`;
          reject(ofKind(connectFailureKind(why), new ConnectionLostError(words)));
        };
        timer = runtime.setTimer(connectTimeoutMs, () => fail(new NoAnswerError(connectTimeoutMs)));
        socket.once('error', fail);
        socket.once('close', () => fail('the server closed the connection'));
        socket.once('connect', () => {
          socket.write(connectRequest(options));
          if (login !== undefined) socket.write(authRequest(login));
        });
        let granted: { ticket: SessionTicket; timeoutMs: number } | undefined;
        const isReady = () => {
          if (granted !== undefined)
            resolve(new ZooKeeperConnection(options, socket, packets, granted));
        };
        packets.onPacket = (packet) => {
          if (granted === undefined) {
            granted = readConnectResponse(packet);
            if (granted.timeoutMs <= 0)
              reject(new SessionExpiredError('the session is over on the server'));
            else if (login === undefined) isReady();
            return;
          }
          const reader = new JuteReader(packet);
          if (reader.int() !== fixedXid.auth) return;
          reader.long();
          const code = reader.int();
          if (code === 0) isReady();
          else reject(new ZooKeeperError(code));
        };
      });
    } catch (error) {
      socket.removeAllListeners();
      socket.on('error', () => {});
      socket.destroy();
      throw error;
    } finally {
      timer?.cancel();
    }
  }

  get isOpen(): boolean {
    return this.#closedBecause === undefined;
  }

  /**
   * Monotonic ms at which the newest request was sent that the server has answered: at least until then it knew the
   * session, and at least a session's time-out longer it keeps it.
   */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** Calls once when the connection has ended, whoever ended it. */
  onClosed(listener: (reason: string) => void): void {
    if (this.#closedBecause !== undefined) listener(this.#closedBecause);
    else this.#closeListeners.add(listener);
  }

  /** With `watch`, that is called once at the next change of the node's data, or its deletion, over this connection. */
  async getData(path: string, watch?: Watch): Promise<NodeContent> {
    if (watch !== undefined) addWatch(this.#dataWatches, path, watch);
    const reader = await this.#request(opCode.getData, (writer) =>
      writer.text(path).bool(watch !== undefined),
    );
    return { data: reader.buffer(), stat: readStat(reader) };
  }

  /** Whether there is such a node. Needs no right on it. */
  async exists(path: string): Promise<boolean> {
    try {
      await this.#request(opCode.exists, (writer) => writer.text(path).bool(false));
      return true;
    } catch (error) {
      if (isZooKeeperError(error, errorCode.noNode)) return false;
      throw error;
    }
  }

  /**
   * With `watch`, that is called once at the next child that comes or goes, or the node's own deletion. On an ephemeral
   * node, which has no children, that is a watch for its end alone, whatever is written to it.
   */
  async getChildren(path: string, watch?: Watch): Promise<string[]> {
    if (watch !== undefined) addWatch(this.#childWatches, path, watch);
    const reader = await this.#request(opCode.getChildren, (writer) =>
      writer.text(path).bool(watch !== undefined),
    );
    const count = Math.max(0, reader.int());
    return Array.from({ length: count }, () => reader.text());
  }

  /** What is read after it on this connection is at least as new as the leader's state when this arrived there. */
  async sync(path: string): Promise<void> {
    await this.#request(opCode.sync, (writer) => writer.text(path));
  }

  async create(
    operation: Omit<Extract<NodeOperation, { kind: 'create' }>, 'kind'>,
  ): Promise<NodeOperationResult> {
    const reader = await this.#request(opCode.create, (writer) =>
      writeCreate(writer, { kind: 'create', ...operation }, this.#access),
    );
    return { path: reader.text(), stat: readStat(reader) };
  }

  async setData(path: string, data: Buffer): Promise<NodeOperationResult> {
    const reader = await this.#request(opCode.setData, (writer) =>
      writer.text(path).buffer(data).int(-1),
    );
    return { path, stat: readStat(reader) };
  }

  async delete(path: string): Promise<void> {
    await this.#request(opCode.delete, (writer) => writer.text(path).int(-1));
  }

  /** All of the operations, in their order and one transaction, or none. */
  async multi(operations: readonly NodeOperation[]): Promise<readonly NodeOperationResult[]> {
    const reader = await this.#request(opCode.multi, (writer) =>
      writeMulti(writer, operations, this.#access),
    );
    const answer: MultiAnswer = readMulti(reader);
    if ('results' in answer) return answer.results;
    throw new ZooKeeperError(answer.errorCode, answer.failedIndex);
  }

  /** Ends the session, and with it its ephemeral nodes, as far as the server can be reached; then the connection. */
  endSession(): void {
    if (this.#closedBecause !== undefined) return;
    const packet = new JuteWriter().int(this.#xid).int(opCode.closeSession).packet();
    this.#close('it was closed here', () => {
      this.#socket.write(packet);
      this.#socket.destroySoon();
    });
  }

  /**
   * Ends the connection; the session lives on for its time-out.
   *
   * @param kind of what that is to who waits for an answer, if it is known.
   */
  destroy(reason: string, kind?: ErrorKind): void {
    this.#close(reason, () => this.#socket.destroy(), kind);
  }

  #close(reason: string, end: () => void, kind?: ErrorKind): void {
    if (this.#closedBecause !== undefined) return;
    this.#closedBecause = reason;
    this.#closedByKind = kind;
    this.#pingTimer?.cancel();
    end();
    this.#dataWatches.clear();
    this.#childWatches.clear();
    for (const pending of this.#pending.splice(0)) pending.fail(this.#lost(reason));
    for (const listener of this.#closeListeners) listener(reason);
    this.#closeListeners.clear();
  }

  #lost(reason: string): ConnectionLostError {
    return ofKind(this.#closedByKind, new ConnectionLostError(reason));
  }

  #request(code: number, write: (writer: JuteWriter) => void): Promise<JuteReader> {
    if (this.#closedBecause !== undefined) return Promise.reject(this.#lost(this.#closedBecause));
    const xid = this.#xid;
    this.#xid = xid === 0x7fffffff ? 1 : xid + 1;
    const writer = new JuteWriter().int(xid).int(code);
    write(writer);
    return new Promise((resolve, reject) => {
      this.#pending.push({
        xid,
        sentAtMs: this.#nowMs(),
        settle: (reader, error) =>
          error === 0 ? resolve(reader) : reject(new ZooKeeperError(error)),
        fail: reject,
      });
      this.#send(writer.packet());
    });
  }

  /** What is asked in one turn goes out in one piece. */
  #send(packet: Buffer): void {
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    this.#socket.write(packet);
  }

  #received(packet: Buffer): void {
    try {
      this.#dispatch(new JuteReader(packet));
    } catch (error) {
      this.destroy(`the server sent what is no answer: ${(error as Error).message}`);
    }
  }

  #dispatch(reader: JuteReader): void {
    const xid = reader.int();
    const zxid = zxidOf(reader.long());
    const code = reader.int();
    if (xid === fixedXid.notification) {
      this.#notified(reader);
      return;
    }
    this.lastZxid = Math.max(this.lastZxid, zxid);
    if (xid === fixedXid.ping) {
      this.#heardMs = Math.max(this.#heardMs, this.#pingSentAtMs);
      return;
    }
    if (xid === fixedXid.auth) return;
    const pending = this.#pending.shift();
    if (pending?.xid !== xid) throw new Error(`request ${pending?.xid} was answered as ${xid}`);
    this.#heardMs = Math.max(this.#heardMs, pending.sentAtMs);
    pending.settle(reader, code);
  }

  #notified(reader: JuteReader): void {
    const type = reader.int();
    reader.int();
    const path = reader.text();
    if (type !== eventType.childrenChanged) tell(this.#dataWatches, path);
    if (type === eventType.childrenChanged || type === eventType.deleted)
      tell(this.#childWatches, path);
  }

  /** Pings by the clock, whatever else is sent or comes in: what the server counts is what it hears. */
  #schedulePing(): void {
    const { sessionTimeoutMs } = this;
    const silenceMs = Math.max(
      sessionTimeoutMs * silenceShare,
      Math.min((sessionTimeoutMs * 2) / 3, patienceMs),
    );
    this.#pingTimer = this.#runtime.setTimer(
      sessionTimeoutMs * pingShare,
      () => {
        if (this.#nowMs() - this.#heardMs > silenceMs) {
          this.destroy(`no answer for ${Math.round(this.#nowMs() - this.#heardMs)} ms`, 'timeout');
          return;
        }
        this.#pingSentAtMs = this.#nowMs();
        this.#socket.write(new JuteWriter().int(fixedXid.ping).int(opCode.ping).packet());
        this.#schedulePing();
      },
      { keepsProcessAlive: false },
    );
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }
}

function addWatch(watches: Map<string, Set<Watch>>, path: string, watch: Watch): void {
  watches.set(path, (watches.get(path) ?? new Set()).add(watch));
}

function tell(watches: Map<string, Set<Watch>>, path: string): void {
  const told = watches.get(path);
  watches.delete(path);
  for (const watch of told ?? []) watch({ path });
}

/** Cuts the stream into packets. */
class PacketReader {
  onPacket: (packet: Buffer) => void = () => {};
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer, socket: Socket): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    while (this.#bytes.length >= 4) {
      const length = this.#bytes.readInt32BE();
      if (length < 0 || length > longestPacketBytes) {
        socket.destroy(new Error(`a packet of ${length} bytes is none of ZooKeeper's`));
        return;
      }
      if (this.#bytes.length < length + 4) return;
      const packet = this.#bytes.subarray(4, length + 4);
      this.#bytes = this.#bytes.subarray(length + 4);
      this.onPacket(packet);
    }
  }
}

function connectRequest({ sessionTimeoutMs, ticket = noTicket }: ConnectionOptions): Buffer {
  // The last transaction number seen is not told: a server that was wiped would refuse us for ever. What has to be fresh
  // is read after a sync.
  return new JuteWriter()
    .int(0)
    .long(0n)
    .int(Math.min(Math.round(sessionTimeoutMs), 0x7fffffff))
    .long(ticket.id)
    .buffer(ticket.password)
    .bool(false)
    .packet();
}

function authRequest(login: string): Buffer {
  const writer = new JuteWriter().int(fixedXid.auth).int(opCode.auth);
  return writer.int(0).text('digest').text(login).packet();
}

function readConnectResponse(packet: Buffer): { ticket: SessionTicket; timeoutMs: number } {
  const reader = new JuteReader(packet);
  reader.int();
  const timeoutMs = reader.int();
  const id = reader.long();
  return { timeoutMs, ticket: { id, password: reader.buffer() } };
}
