import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to bytes that travel in one direction. */
export type Toxic =
  | { readonly kind: 'none' }
  /** Bytes vanish; the connection stays open, as behind a firewall that drops packets. */
  | { readonly kind: 'swallow' }
  /** Bytes are kept until {@link Lane.flush} or the next toxic. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** Each piece of bytes, as it was sent, meets a fate of its own; the sockets tell the connections apart. */
  | {
      readonly kind: 'judge';
      readonly fateOf: (bytes: Buffer, from: Socket, to: Socket) => 'none' | 'swallow' | 'hold';
    }
  /** Bytes pass, and are told of. */
  | { readonly kind: 'overhear'; readonly heard: (bytes: Buffer) => void }
  /** The connection is reset once this many more bytes went through. */
  | { readonly kind: 'cut'; readonly afterBytes: number };

/** One direction of all connections of a proxy: `up` to the server, `down` to the client. */
export class Lane {
  #toxic: Toxic = { kind: 'none' };
  #held: { readonly to: Socket; readonly bytes: Buffer }[] = [];
  #waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  #caughtBytes = 0;
  /** Receivers whose sender closed while bytes for them were held. */
  readonly #orphans = new Set<Socket>();

  /** How many bytes were swallowed or are held since the toxic was set. */
  get caughtBytes(): number {
    return this.#caughtBytes;
  }

  set(toxic: Toxic): void {
    this.flush();
    this.#toxic = toxic;
    this.#caughtBytes = 0;
  }

  swallow(): void {
    this.set({ kind: 'swallow' });
  }

  hold(): void {
    this.set({ kind: 'hold' });
  }

  heal(): void {
    this.set({ kind: 'none' });
  }

  /** Delivers what is held, also of senders that are gone by now. The toxic stays. */
  flush(): void {
    const held = this.#held;
    this.#held = [];
    for (const { to, bytes } of held) if (to.writable) to.write(bytes);
    for (const to of this.#orphans) to.end();
    this.#orphans.clear();
  }

  /** Resolves when at least `count` bytes have been swallowed or held: the request is surely on its way. */
  caught(count = 1): Promise<void> {
    if (this.#caughtBytes >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ count, resolve });
    });
  }

  /** @internal */
  pass(from: Socket, to: Socket, bytes: Buffer): void {
    const toxic =
      this.#toxic.kind === 'judge' ? { kind: this.#toxic.fateOf(bytes, from, to) } : this.#toxic;
    switch (toxic.kind) {
      case 'none':
        to.write(bytes);
        break;
      case 'swallow':
        this.#caught(bytes);
        break;
      case 'hold':
        this.#held.push({ to, bytes });
        this.#caught(bytes);
        break;
      case 'delay':
        setTimeout(() => to.writable && to.write(bytes), toxic.delayMs);
        break;
      case 'overhear':
        to.write(bytes);
        toxic.heard(bytes);
        break;
      case 'cut':
        this.#cut(toxic.afterBytes, from, to, bytes);
        break;
    }
  }

  /** @internal The sender closed: so does the receiver, but not before it got what is held for it. */
  senderClosed(to: Socket): void {
    if (this.#held.some((held) => held.to === to)) this.#orphans.add(to);
    else to.end();
  }

  #caught(bytes: Buffer): void {
    this.#caughtBytes += bytes.length;
    const ready = this.#waiters.filter((waiter) => waiter.count <= this.#caughtBytes);
    this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter));
    for (const waiter of ready) waiter.resolve();
  }

  #cut(afterBytes: number, from: Socket, to: Socket, bytes: Buffer): void {
    if (bytes.length < afterBytes) {
      to.write(bytes);
      this.#toxic = { kind: 'cut', afterBytes: afterBytes - bytes.length };
      return;
    }
    this.#toxic = { kind: 'none' };
    to.write(bytes.subarray(0, afterBytes), () => to.destroy());
    from.resetAndDestroy();
  }
}

/** A TCP proxy in this process, whose two directions can be made to misbehave at any moment. */
export class FaultProxy {
  readonly up = new Lane();
  readonly down = new Lane();
  readonly #server: Server;
  #target: { readonly port: number; readonly host: string };
  readonly #sockets = new Set<Socket>();
  readonly #copies = new Set<Socket>();
  #refusing = false;

  private constructor(targetPort: number, targetHost: string) {
    this.#target = { port: targetPort, host: targetHost };
    // Half-open on both sides: closing is passed on by hand, and not before what is held.
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      if (this.#refusing) {
        client.resetAndDestroy();
        return;
      }
      const upstream = connect({ ...this.#target, allowHalfOpen: true });
      this.#join(client, upstream, this.up);
      this.#join(upstream, client, this.down);
    });
  }

  /** Listens on a free loopback port. */
  static async start(targetPort: number, targetHost = '127.0.0.1'): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort, targetHost);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Client connections that are open now. */
  get connectionCount(): number {
    return this.#sockets.size / 2;
  }

  /** Resets every connection; new ones are accepted. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /**
   * Each request that begins from now on is executed twice, one after the other, before its first answer is passed on; its
   * second answer goes nowhere. For clients that send a request once the one before is answered.
   *
   * @param loggedIn a connection to the server on which it takes requests. Default: a new one, for servers that want no login.
   */
  async duplicate(loggedIn?: Socket): Promise<void> {
    const copyTo = loggedIn ?? connect(this.#target);
    this.#copies.add(copyTo);
    if (copyTo.connecting) await once(copyTo, 'connect');
    let toRepeat: Buffer[] = [];
    let isRepeating = false;
    copyTo.on('error', () => {});
    copyTo.on('data', () => {
      isRepeating = false;
      this.down.flush();
    });
    this.up.set({ kind: 'overhear', heard: (bytes) => toRepeat.push(bytes) });
    const repeat = () => {
      if (toRepeat.length > 0) {
        copyTo.write(Buffer.concat(toRepeat));
        toRepeat = [];
        isRepeating = true;
      }
      return isRepeating ? 'hold' : 'none';
    };
    this.down.set({ kind: 'judge', fateOf: repeat });
  }

  /** New connections go to this port from now on; those that are open stay where they are. */
  aim(targetPort: number): void {
    this.#target = { ...this.#target, port: targetPort };
  }

  /** While `true`, new connections are reset at once. */
  refuse(refusing: boolean): void {
    this.#refusing = refusing;
  }

  /** No more faults, and whatever was held is delivered. */
  heal(): void {
    this.#refusing = false;
    this.up.heal();
    this.down.heal();
  }

  async stop(): Promise<void> {
    this.reset();
    for (const copy of this.#copies) copy.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(from: Socket, to: Socket, lane: Lane): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes) => lane.pass(from, to, bytes));
    from.on('end', () => lane.senderClosed(to));
    from.on('error', () => lane.senderClosed(to));
    from.on('close', () => {
      this.#sockets.delete(from);
      lane.senderClosed(to);
    });
  }
}
