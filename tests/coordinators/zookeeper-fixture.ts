import { afterAll, afterEach, beforeAll } from 'vitest';
import { ZooKeeperPaths } from '../../src/coordinators/zookeeper/paths.js';
import { type Coordinator, Holder } from '../../src/index.js';
import { realRuntime } from '../../src/time/index.js';
import {
  type ZooKeeperCoordinator,
  type ZooKeeperCoordinatorOptions,
  zookeeperCoordinator,
} from '../../src/zookeeper.js';
import { call } from '../support/call.js';
import { FaultProxy } from '../support/proxy.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';

export { call } from '../support/call.js';

export const limits = { smallestTtlMs: 600, largestTtlMs: 60_000 };

let count = 0;

/** A process: its own coordinator behind its own proxy, and one holder. */
export class Process {
  readonly client: ZooKeeperCoordinator;
  readonly proxy: FaultProxy;
  readonly holder: Holder;
  /** The sessions that it has begun, as they went over the wire. */
  readonly tickets: readonly Ticket[];

  private constructor(
    client: ZooKeeperCoordinator,
    proxy: FaultProxy,
    id: string,
    tickets: readonly Ticket[],
  ) {
    this.client = client;
    this.proxy = proxy;
    this.holder = Holder.create(id, realRuntime);
    this.tickets = tickets;
  }

  static async start(
    server: ZooKeeperServer,
    id: string,
    options: ZooKeeperCoordinatorOptions = {},
    urlOf: (port: number) => string = (port) => `zookeeper://127.0.0.1:${port}`,
  ): Promise<Process> {
    const proxy = await FaultProxy.start(server.port);
    const tickets: Ticket[] = [];
    proxy.down.set({
      kind: 'judge',
      fateOf: (bytes) => {
        const ticket = ticketIn(bytes);
        if (ticket !== undefined) tickets.push(ticket);
        return 'none';
      },
    });
    const client = zookeeperCoordinator(urlOf(proxy.port), {
      connectTimeoutMs: 500,
      ...limits,
      ...options,
    });
    return new Process(client, proxy, id, tickets);
  }

  request(name: string, ttlMs: number, parts: object = {}) {
    return { name, holder: this.holder, attempt: realRuntime.randomHex(16), ttlMs, ...parts };
  }

  async take(name: string, ttlMs: number, parts: object = {}): Promise<number> {
    const [result] = await this.client.acquire([this.request(name, ttlMs, parts)], call);
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${JSON.stringify(result)}`);
    return result.term;
  }

  async tries(name: string, ttlMs = 1_000): Promise<string | undefined> {
    const [result] = await this.client.acquire([this.request(name, ttlMs)], call);
    return result?.outcome;
  }

  async renew(name: string, term: number, ttlMs: number) {
    return (await this.client.renew([{ name, holder: this.holder, term, ttlMs }], call))[0];
  }

  async release(name: string, term: number) {
    return (await this.client.release([{ name, holder: this.holder, term }], call))[0];
  }

  /** As after SIGKILL: nothing is sent any more, and nobody is told. */
  async vanish(): Promise<void> {
    this.proxy.refuse(true);
    this.proxy.reset();
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.proxy.stop();
  }
}

export interface Ticket {
  readonly timeoutMs: number;
  readonly id: Buffer;
  readonly password: Buffer;
}

/** The answer to a handshake. */
export function ticketIn(bytes: Buffer): Ticket | undefined {
  if (bytes.length < 40 || bytes.readInt32BE(4) !== 0 || bytes.readInt32BE(20) !== 16) return;
  return {
    timeoutMs: bytes.readInt32BE(8),
    id: Buffer.from(bytes.subarray(12, 20)),
    password: Buffer.from(bytes.subarray(24, 40)),
  };
}

/** A server for the tests of a file, a namespace for their names, and processes that end with the test that starts them. */
export function useZooKeeper(name: string, options: { readonly clock?: boolean } = {}) {
  const open: { stop(): Promise<void> }[] = [];
  const own = newNamespace();
  let server: ZooKeeperServer | undefined;
  let names = 0;
  beforeAll(async () => {
    server = await startZooKeeper({ ...options, smallestSessionMs: limits.smallestTtlMs });
  });
  afterAll(() => server?.stop());
  afterEach(async () => {
    for (const one of open.splice(0)) await one.stop();
  });
  const started = () => server as ZooKeeperServer;
  return {
    ...own,
    open,
    get server() {
      return started();
    },
    newName: () => `${name}-${names++}`,
    start: async (id: string, more: object = {}): Promise<Process> => {
      const one = await Process.start(started(), id, { namespace: own.namespace, ...more });
      open.push(one);
      return one;
    },
  };
}

export const pause = (durationMs: number) =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

/** A namespace of the test's own. */
export function newNamespace(): { namespace: string; paths: ZooKeeperPaths } {
  const namespace = `test/${process.pid}/${count++}`;
  return { namespace, paths: new ZooKeeperPaths('', namespace) };
}

export async function isFree(client: Coordinator, name: string): Promise<boolean> {
  return (await client.read([name], call))[0] === undefined;
}
