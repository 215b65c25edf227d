import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import type { Coordinator, CoordinatorPromises } from '../../src/coordinators/index.js';
import { RedisKeys } from '../../src/coordinators/redis/keys.js';
import { redisPromises } from '../../src/coordinators/redis/promises.js';
import { type RedisCoordinatorOptions, redisCoordinator } from '../../src/redis.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { ProxiedClients } from '../support/proxied-clients.js';
import { FaultProxy } from '../support/proxy.js';
import type { RedisServer } from '../support/servers/index.js';

/** What the conformance suite runs on: one server or several, and what happens to all of their clients at once. */
export interface RedisPlace {
  /** Long against what connecting takes there. */
  readonly ttlMs: number;
  /** Where the requests of a namespace with this key may go; each client gets proxies of its own in front of these. */
  portsOf(key: string): readonly number[];
  /** The URL of a client whose proxies listen there, in the order of `portsOf`. */
  urlFor(proxyPorts: readonly number[]): string;
  readonly options: Pick<RedisCoordinatorOptions, 'replicas' | 'sentinelPassword'>;
  admin(): Redis | Cluster;
  /** Of the server that has `key`, as everything here that is not of a client. */
  restart(key: string, options: { readonly keepData: boolean }): Promise<void>;
  loseTail(key: string, during: () => Promise<void>): Promise<void>;
  stepClock(stepMs: number): void;
  /** What the last case did to all of them. */
  repair(): Promise<void>;
}

export interface RedisTargetOptions {
  /** What this target cannot do. */
  readonly impossible?: ConformanceTarget['impossible'];
  readonly promises?: CoordinatorPromises;
}

/** Real coordinators on real servers, each behind proxies of its own; a namespace per case. */
export function redisTarget(
  name: string,
  place: () => RedisPlace,
  options: RedisTargetOptions = {},
): ConformanceTarget {
  return {
    name,
    promises: options.promises ?? redisPromises,
    impossible: options.impossible ?? {},
    create: async () => new RedisSubject(place()),
  };
}

/** One server. `login`: user and password of the clients under test, as in `user:password@`. */
export function singlePlace(server: RedisServer, login = ''): RedisPlace {
  return {
    ttlMs: 2_000,
    portsOf: () => [server.port],
    urlFor: ([port]) => `redis://${login}127.0.0.1:${port}`,
    options: {},
    admin: () => new Redis(server.url),
    restart: (_, options) => server.restart(options),
    loseTail: (_, during) => loseTail(server, during),
    stepClock: (stepMs) => server.stepClock(stepMs),
    repair: async () => {
      if (server.clockOffsetMs !== 0) server.stepClock(-server.clockOffsetMs);
    },
  };
}

/** The server loses its last writes as a power cut would make it: an earlier copy of its files comes back. */
async function loseTail(server: RedisServer, during: () => Promise<void>): Promise<void> {
  const files = join(server.dir, 'appendonlydir');
  const copy = join(server.dir, 'before');
  await cp(files, copy, { recursive: true });
  await during();
  await server.kill();
  await rm(files, { recursive: true });
  await cp(copy, files, { recursive: true });
  await rm(copy, { recursive: true });
  await server.restart({ keepData: true });
}

let namespaceCount = 0;

class RedisSubject implements ConformanceSubject {
  readonly ttlMs: number;
  readonly timeoutMs: number;
  readonly timerSlackMs = 250;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly #place: RedisPlace;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #keys = new RedisKeys(this.#namespace);
  readonly #clients = new ProxiedClients<Coordinator>();
  readonly #admin: Redis | Cluster;
  #nameCount = 0;

  constructor(place: RedisPlace) {
    this.#place = place;
    this.ttlMs = place.ttlMs;
    this.timeoutMs = place.ttlMs / 2;
    this.#admin = place.admin();
    this.#admin.on('error', () => {});
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const ports = this.#place.portsOf(this.#keys.term);
    const proxies = await Promise.all(ports.map((port) => FaultProxy.start(port)));
    const proxyPorts = proxies.map(({ port }) => port);
    const seen = ports.map((port, index) => [
      `127.0.0.1:${port}`,
      `127.0.0.1:${proxyPorts[index]}`,
    ]);
    const client = redisCoordinator(this.#place.urlFor(proxyPorts), {
      ...this.#place.options,
      namespace: this.#namespace,
      runtime: this.#clients.runtime,
      connectTimeoutMs: 1_000,
      nodeAddressMap: Object.fromEntries(seen),
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
    await this.#place.repair();
    const pattern = `${this.#keys.term.replace(/term$/, '')}*`;
    const masters = this.#admin instanceof Cluster ? this.#admin.nodes('master') : [this.#admin];
    const keys = (await Promise.all(masters.map((master) => master.keys(pattern)))).flat();
    if (keys.length > 0) await this.#admin.del(...keys);
    this.#admin.disconnect();
  }

  #controls(): SubjectControls {
    const place = this.#place;
    return {
      ...this.#clients.controls,
      flushRequests: async (client) => {
        this.#clients.each(client, ({ up }) => up.heal());
        // By its second answer the server has taken in what had reached it before the first question.
        await this.#admin.get(this.#keys.term);
        await this.#admin.get(this.#keys.term);
      },
      duplicateRequests: async (client) => {
        await Promise.all(this.#clients.proxiesOf(client).map((proxy) => proxy.duplicate()));
      },
      deleteRecord: async (name) => {
        await this.#admin.del(this.#keys.place(name).lease);
      },
      overwriteRecord: async (name, text) => {
        await this.#admin.set(this.#keys.place(name).lease, text);
      },
      foreignText: async (name) =>
        (await this.#admin.get(this.#keys.place(name).lease)) ?? undefined,
      restartKeepingData: () => place.restart(this.#keys.term, { keepData: true }),
      restartLosingData: () => place.restart(this.#keys.term, { keepData: false }),
      loseTail: (during) => place.loseTail(this.#keys.term, during),
      stepClock: async (stepMs) => place.stepClock(stepMs),
    };
  }
}
