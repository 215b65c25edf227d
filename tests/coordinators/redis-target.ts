import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Coordinator } from '../../src/coordinators/index.js';
import { RedisKeys } from '../../src/coordinators/redis/keys.js';
import { redisPromises } from '../../src/coordinators/redis/promises.js';
import { redisCoordinator } from '../../src/redis.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { type Runtime, realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import type { RedisServer } from '../support/servers/index.js';

export interface RedisTargetOptions {
  /** User and password of the clients under test, e.g. `user:password@`. Default: none. */
  readonly login?: string;
  /** What this target cannot do. */
  readonly impossible?: ConformanceTarget['impossible'];
}

/** Real coordinators on a real server, each behind a proxy of its own; a namespace per case. */
export function redisTarget(
  name: string,
  server: () => RedisServer,
  options: RedisTargetOptions = {},
): ConformanceTarget {
  return {
    name,
    promises: redisPromises,
    impossible: options.impossible ?? {},
    create: async () => new RedisSubject(server(), options.login ?? ''),
  };
}

let namespaceCount = 0;

class RedisSubject implements ConformanceSubject {
  readonly ttlMs = 400;
  readonly timeoutMs = 200;
  readonly timerSlackMs = 60;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly server: RedisServer;
  readonly #login: string;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #keys = new RedisKeys(this.#namespace);
  readonly #proxies = new Map<Coordinator, FaultProxy>();
  readonly #admin: Redis;
  #nameCount = 0;
  #timerCount = 0;

  constructor(server: RedisServer, login: string) {
    this.server = server;
    this.#login = login;
    this.#admin = new Redis(server.url);
    this.#admin.on('error', () => {});
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const proxy = await FaultProxy.start(this.server.port);
    const client = redisCoordinator(`redis://${this.#login}127.0.0.1:${proxy.port}`, {
      namespace: this.#namespace,
      runtime: this.#countingRuntime(),
      connectTimeoutMs: 100,
    });
    this.#proxies.set(client, proxy);
    // Connected before the first disturbance, so that this meets requests and not the login.
    await client.read(['warm'], { timeoutMs: 5_000 });
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
    for (const [client, proxy] of this.#proxies) {
      await client.close();
      await proxy.stop();
    }
    const keys = await this.#admin.keys(`${this.#keys.term.replace(/term$/, '')}*`);
    if (keys.length > 0) await this.#admin.del(...keys);
    this.#admin.disconnect();
    if (this.server.clockOffsetMs !== 0) this.server.stepClock(-this.server.clockOffsetMs);
  }

  #countingRuntime(): Runtime {
    return {
      ...realRuntime,
      setTimer: (delayMs, callback, options) => {
        this.#timerCount += 1;
        let isPending = true;
        const ended = () => {
          if (isPending) this.#timerCount -= 1;
          isPending = false;
        };
        const timer = realRuntime.setTimer(
          delayMs,
          () => {
            ended();
            callback();
          },
          options,
        );
        return {
          cancel: () => {
            ended();
            timer.cancel();
          },
        };
      },
    };
  }

  #proxyOf(client: Coordinator): FaultProxy {
    const proxy = this.#proxies.get(client);
    if (proxy === undefined) throw new Error('this client is not of this subject');
    return proxy;
  }

  #controls(): SubjectControls {
    return {
      hang: async (client) => {
        this.#proxyOf(client).up.swallow();
        this.#proxyOf(client).down.swallow();
      },
      cut: async (client) => {
        this.#proxyOf(client).refuse(true);
        this.#proxyOf(client).reset();
      },
      loseReplies: async (client) => this.#proxyOf(client).down.swallow(),
      holdRequests: async (client) => this.#proxyOf(client).up.hold(),
      flushRequests: async (client) => {
        this.#proxyOf(client).up.heal();
        // By its second answer the server has taken in what had reached it before the first question.
        await this.#admin.ping();
        await this.#admin.ping();
      },
      duplicateRequests: (client) => this.#proxyOf(client).duplicate(),
      heal: async (client) => this.#proxyOf(client).heal(),
      deleteRecord: async (name) => {
        await this.#admin.del(this.#keys.place(name).lease);
      },
      overwriteRecord: async (name, text) => {
        await this.#admin.set(this.#keys.place(name).lease, text);
      },
      foreignText: async (name) =>
        (await this.#admin.get(this.#keys.place(name).lease)) ?? undefined,
      restartKeepingData: () => this.server.restart({ keepData: true }),
      restartLosingData: () => this.server.restart({ keepData: false }),
      loseTail: (during) => this.#loseTail(during),
      pendingCount: async () => {
        const proxies = [...this.#proxies.values()];
        return proxies.reduce((sum, proxy) => sum + proxy.connectionCount, this.#timerCount);
      },
      stepClock: async (stepMs) => this.server.stepClock(stepMs),
    };
  }

  /** The server loses its last writes as a power cut would make it: an earlier copy of its files comes back. */
  async #loseTail(during: () => Promise<void>): Promise<void> {
    const files = join(this.server.dir, 'appendonlydir');
    const copy = join(this.server.dir, 'before');
    await cp(files, copy, { recursive: true });
    await during();
    await this.server.kill();
    await rm(files, { recursive: true });
    await cp(copy, files, { recursive: true });
    await rm(copy, { recursive: true });
    await this.server.restart({ keepData: true });
  }
}
