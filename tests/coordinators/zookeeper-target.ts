import type { Coordinator } from '../../src/coordinators/index.js';
import { groupOf } from '../../src/coordinators/names.js';
import { ZooKeeperPaths } from '../../src/coordinators/zookeeper/paths.js';
import { zookeeperPromises } from '../../src/coordinators/zookeeper/promises.js';
import { decodeLeaseNode, decodeState } from '../../src/coordinators/zookeeper/state.js';
import { ZooKeeperConnection } from '../../src/drivers/zookeeper/index.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { ProxiedClients } from '../support/proxied-clients.js';
import { FaultProxy } from '../support/proxy.js';
import type { ZooKeeperServer } from '../support/servers/index.js';

const smallestTtlMs = 350;
const largestTtlMs = 60_000;
/** The grain of the server's clock. */
const settlingMs = 10;
/** How long a client may take, on a busy machine, to remove a lease that it has let run out. */
const removalMs = 1_000;

/** The user of the cases, and the path that is theirs. */
export const caseLogin = 'case:open sesame';
export const caseChroot = '/limited/team';

/**
 * Real coordinators on a real server, each behind a proxy of its own; a namespace per case. They have the least rights:
 * those of a user on one path.
 */
export function zookeeperTarget(name: string, server: () => ZooKeeperServer): ConformanceTarget {
  return {
    name,
    promises: zookeeperPromises(smallestTtlMs, largestTtlMs),
    impossible: {
      duplicateRequests:
        'a request belongs to the one connection of its session and is numbered on it: a copy on another connection is no request, and nothing sends it twice on its own',
    },
    create: async () => new ZooKeeperSubject(server()),
  };
}

/** Does it as somebody who has a connection of their own. */
export async function asOperator<Value>(
  server: ZooKeeperServer,
  act: (connection: ZooKeeperConnection) => Promise<Value>,
  login?: string,
): Promise<Value> {
  const connection = await ZooKeeperConnection.open({
    runtime: realRuntime,
    server,
    login,
    sessionTimeoutMs: 10_000,
    connectTimeoutMs: 5_000,
  });
  try {
    return await act(connection);
  } finally {
    connection.endSession();
  }
}

const multi = 14;

/** Whether a piece of bytes, as it was sent, has a request in it that changes something. */
export function hasMulti(bytes: Buffer): boolean {
  for (let offset = 0; offset + 12 <= bytes.length; ) {
    if (bytes.readInt32BE(offset + 8) === multi) return true;
    offset += 4 + bytes.readInt32BE(offset);
  }
  return false;
}

let namespaceCount = 0;

class ZooKeeperSubject implements ConformanceSubject {
  readonly ttlMs = 2_000;
  readonly timeoutMs = 1_000;
  readonly timerSlackMs = 250;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly #server: ZooKeeperServer;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #paths = new ZooKeeperPaths(caseChroot, this.#namespace);
  readonly #clients = new ProxiedClients<Coordinator>();
  #nameCount = 0;

  constructor(server: ZooKeeperServer) {
    this.#server = server;
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const proxy = await FaultProxy.start(this.#server.port);
    const login = caseLogin.split(':').map(encodeURIComponent).join(':');
    const client = zookeeperCoordinator(
      `zookeeper://${login}@127.0.0.1:${proxy.port}${caseChroot}`,
      {
        namespace: this.#namespace,
        runtime: this.#clients.runtime,
        connectTimeoutMs: 1_000,
        smallestTtlMs,
        largestTtlMs,
      },
    );
    this.#clients.add(client, proxy);
    // Connected before the first disturbance, so that this meets requests and not the handshake.
    await client.read(['warm'], { timeoutMs: 30_000 });
    return client;
  }

  newName(): string {
    this.#nameCount += 1;
    return `group-${this.#nameCount}/name`;
  }

  async advance(durationMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, durationMs + settlingMs));
    if (durationMs < this.ttlMs * 0.45) return;
    // What is to stand yet after a part of the ttl must not run out meanwhile.
    const limitMs = durationMs < this.ttlMs ? this.ttlMs * 0.1 : removalMs;
    await this.#removals(limitMs).catch(() => {});
  }

  /** Waits until the clients have removed what they have let run out, unless they cannot. */
  async #removals(limitMs: number): Promise<void> {
    const startedMs = performance.now();
    await this.#asColleague(async (connection) => {
      while (performance.now() - startedMs < limitMs && (await this.#hasOverdue(connection)))
        await new Promise((resolve) => setTimeout(resolve, 5));
    });
  }

  async #hasOverdue(connection: ZooKeeperConnection): Promise<boolean> {
    const { stat } = await connection.setData(this.#paths.bells, Buffer.alloc(0));
    const nowMs = stat?.modifiedAtMs ?? 0;
    for (const group of await connection.getChildren(this.#paths.names)) {
      const path = `${this.#paths.names}/${group}`;
      for (const name of await connection.getChildren(path)) {
        const children = await connection.getChildren(`${path}/${name}`);
        for (const lease of children.filter((child) => child.startsWith('lease-'))) {
          const node = await connection.getData(`${path}/${name}/${lease}`);
          const { ttlMs = 0 } = decodeLeaseNode(node.data) ?? {};
          if (node.stat.modifiedAtMs + ttlMs <= nowMs) return true;
        }
      }
    }
    return false;
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async close(): Promise<void> {
    await this.#clients.close();
    const { clockOffsetMs } = this.#server;
    if (clockOffsetMs !== 0) this.#server.stepClock(-clockOffsetMs);
  }

  /** Somebody who has the same rights. */
  #asColleague<Value>(act: (connection: ZooKeeperConnection) => Promise<Value>): Promise<Value> {
    return asOperator(this.#server, act, caseLogin);
  }

  #controls(): SubjectControls {
    const server = this.#server;
    const paths = this.#paths;
    return {
      ...this.#clients.controls,
      // A call first reads and then writes: what gets lost is the answer to the write, and all after it.
      loseReplies: async (client) => {
        let isWritten = false;
        this.#clients.proxyOf(client).up.set({
          kind: 'judge',
          fateOf: (bytes) => {
            isWritten ||= hasMulti(bytes);
            return 'none';
          },
        });
        this.#clients.proxyOf(client).down.set({
          kind: 'judge',
          fateOf: () => (isWritten ? 'swallow' : 'none'),
        });
      },
      // And what is held is the write, and all after it.
      holdRequests: async (client) => {
        let isWritten = false;
        this.#clients.proxyOf(client).up.set({
          kind: 'judge',
          fateOf: (bytes) => {
            isWritten ||= hasMulti(bytes);
            return isWritten ? 'hold' : 'none';
          },
        });
      },
      flushRequests: async (client) => {
        this.#clients.proxyOf(client).up.heal();
        // By its third answer the server has taken in what had reached it before the first question.
        await asOperator(server, async (connection) => {
          for (let round = 0; round < 3; round++) await connection.setData('/', Buffer.alloc(0));
        });
      },
      duplicateRequests: async () => {
        throw new Error('declared impossible');
      },
      deleteRecord: (name) =>
        this.#asColleague(async (connection) => {
          const { data, stat } = await connection.getData(paths.name(name));
          const attempt = decodeState(data, stat)?.lease?.attempt ?? '';
          await connection.delete(paths.lease(name, attempt));
        }),
      overwriteRecord: (name, text) =>
        this.#asColleague(async (connection) => {
          for (const path of [paths.group(groupOf(name)), paths.name(name)])
            await connection.create({ path, data: Buffer.alloc(0) }).catch(() => {});
          await connection.setData(paths.name(name), Buffer.from(text));
        }),
      foreignText: (name) =>
        this.#asColleague(async (connection) => {
          const { data, stat } = await connection.getData(paths.name(name));
          return decodeState(data, stat) === undefined ? data.toString() : undefined;
        }),
      restartKeepingData: () => server.restart({ keepData: true }),
      restartLosingData: () => server.restart({ keepData: false }),
      loseTail: async () => {
        throw new Error('no promise is made about it');
      },
      stepClock: async (stepMs) => server.stepClock(stepMs),
    };
  }
}
