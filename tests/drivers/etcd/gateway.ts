import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GatewayRequest {
  readonly path: string;
  readonly body: string;
}

/** Waits with what it is given, or does not. */
type Pause = (request: GatewayRequest) => Promise<unknown> | undefined;

/**
 * Stands before a member and understands what is asked: a request can be late, after its caller has given up, and so can
 * an answer to what was executed at once.
 */
export class Gateway {
  /** Before a request is passed on. */
  beforeRequest: Pause = () => undefined;
  /** Once the member has answered. */
  afterRequest: (request: GatewayRequest) => void = () => {};
  /** What is answered so, and not passed on. */
  refuses: (request: GatewayRequest) => object | undefined = () => undefined;
  /** Before an answer is passed on. */
  beforeAnswer: Pause = () => undefined;
  /** What is answered in the place of the member, which executes it. */
  insteadOf: (request: GatewayRequest) => { status: number; text: string } | undefined = () =>
    undefined;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(targetPort: number) {
    this.#server = createServer(async (incoming, outgoing) => {
      const path = incoming.url ?? '';
      const headers = { ...incoming.headers };
      const body = await textOf(incoming);
      await this.beforeRequest({ path, body });
      const refusal = this.refuses({ path, body });
      if (refusal !== undefined) {
        outgoing.writeHead(400).end(JSON.stringify(refusal));
        return;
      }
      const { method } = incoming;
      const target = { host: '127.0.0.1', port: targetPort, path, method, headers };
      const forwarded = request({ ...target, agent: this.#agent });
      forwarded.on('error', () => outgoing.destroy());
      if (path === '/v3/watch') outgoing.on('close', () => forwarded.destroy());
      forwarded.on('response', async (response) => {
        if (path === '/v3/watch') {
          outgoing.writeHead(response.statusCode ?? 0, response.headers);
          response.pipe(outgoing);
          return;
        }
        const text = await textOf(response);
        this.afterRequest({ path, body });
        await this.beforeAnswer({ path, body });
        const other = this.insteadOf({ path, body });
        outgoing.writeHead(other?.status ?? response.statusCode ?? 0);
        outgoing.end(other?.text ?? text);
      });
      forwarded.end(body);
    });
  }

  static async start(targetPort: number): Promise<Gateway> {
    const gateway = new Gateway(targetPort);
    await once(gateway.#server.listen(0, '127.0.0.1'), 'listening');
    return gateway;
  }

  get url(): string {
    return `etcd://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }
}

async function textOf(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

/** Opens once. */
export class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
