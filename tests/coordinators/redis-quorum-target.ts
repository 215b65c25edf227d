import { Redis } from 'ioredis';
import type { Coordinator } from '../../src/coordinators/index.js';
import { RedisKeys } from '../../src/coordinators/redis/keys.js';
import { quorumPromises } from '../../src/coordinators/redis-quorum/promises.js';
import { redisQuorumCoordinator } from '../../src/redis.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { ProxiedClients } from '../support/proxied-clients.js';
import { FaultProxy } from '../support/proxy.js';
import type { RedisQuorumServers } from '../support/servers/redis-quorum.js';

const largestTtlMs = 60_000;

/** Real coordinators on real servers, each with a proxy of its own before every one of them; a namespace per case. */
export function redisQuorumTarget(
  name: string,
  servers: () => RedisQuorumServers,
  impossible: ConformanceTarget['impossible'] = {},
): ConformanceTarget {
  return {
    name,
    promises: quorumPromises(largestTtlMs),
    impossible,
    create: async () => new RedisQuorumSubject(servers()),
  };
}

let namespaceCount = 0;

class RedisQuorumSubject implements ConformanceSubject {
  readonly ttlMs = 1_800;
  readonly timeoutMs = 900;
  readonly timerSlackMs = 250;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly #servers: RedisQuorumServers;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #keys = new RedisKeys(this.#namespace);
  readonly #clients = new ProxiedClients<Coordinator>();
  readonly #admins: Redis[];
  #nameCount = 0;

  constructor(servers: RedisQuorumServers) {
    this.#servers = servers;
    this.#admins = servers.nodes.map(({ url }) => new Redis(url));
    for (const admin of this.#admins) admin.on('error', () => {});
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const proxies = await Promise.all(
      this.#servers.nodes.map(({ port }) => FaultProxy.start(port)),
    );
    const hosts = proxies.map(({ port }) => `127.0.0.1:${port}`);
    const client = redisQuorumCoordinator(`redis+quorum://${hosts.join(',')}`, {
      namespace: this.#namespace,
      runtime: this.#clients.runtime,
      connectTimeoutMs: 600,
      nodeTimeoutMs: 1_000,
      largestTtlMs,
    });
    this.#clients.add(client, ...proxies);
    // Connected before the first disturbance, so that this meets requests and not the login.
    await client.read(['warm'], { timeoutMs: 30_000 });
    return client;
  }

  newName(): string {
    this.#nameCount += 1;
    return `group-${this.#nameCount}/name`;
  }

  async advance(durationMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, durationMs + 1));
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async close(): Promise<void> {
    await this.#clients.close();
    for (const admin of this.#admins) {
      const keys = await admin.keys(`${this.#keys.term.replace(/term$/, '')}*`);
      if (keys.length > 0) await admin.del(...keys);
      admin.disconnect();
    }
    for (const server of this.#servers.nodes)
      if (server.clockOffsetMs !== 0) server.stepClock(-server.clockOffsetMs);
  }

  #controls(): SubjectControls {
    const everywhere = async (act: (admin: Redis) => Promise<unknown>) => {
      await Promise.all(this.#admins.map(act));
    };
    return {
      ...this.#clients.controls,
      flushRequests: async (client) => {
        this.#clients.each(client, ({ up }) => up.heal());
        // By its second answer a server has taken in what had reached it before the first question.
        await everywhere((admin) => admin.ping());
        await everywhere((admin) => admin.ping());
      },
      duplicateRequests: async (client) => {
        await Promise.all(this.#clients.proxiesOf(client).map((proxy) => proxy.duplicate()));
      },
      deleteRecord: (name) => everywhere((admin) => admin.del(this.#keys.place(name).lease)),
      overwriteRecord: (name, text) =>
        everywhere((admin) => admin.set(this.#keys.place(name).lease, text)),
      foreignText: async (name) => {
        const { lease } = this.#keys.place(name);
        const texts = await Promise.all(this.#admins.map((admin) => admin.get(lease)));
        const [first] = texts;
        return texts.every((text) => text === first) ? (first ?? undefined) : undefined;
      },
      restartKeepingData: async () => {
        await Promise.all(this.#servers.nodes.map((server) => server.restart({ keepData: true })));
      },
      restartLosingData: async () => {
        await Promise.all(this.#servers.nodes.map((server) => server.restart({ keepData: false })));
      },
      loseTail: async () => {
        throw new Error('terms are not promised to survive it');
      },
      stepClock: async (stepMs) => {
        for (const server of this.#servers.nodes) server.stepClock(stepMs);
      },
    };
  }
}
