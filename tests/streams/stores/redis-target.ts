import { Redis } from 'ioredis';
import type {
  StreamControls,
  StreamSubject,
  StreamTarget,
} from '../../../src/streams/conformance/index.js';
import type { StreamStore } from '../../../src/streams/contract.js';
import { redisStreams } from '../../../src/streams/redis/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { ProxiedClients } from '../../support/proxied-clients.js';
import { FaultProxy } from '../../support/proxy.js';
import type { RedisServer } from '../../support/servers/index.js';

/**
 * Real stores on a real server, each behind a proxy of its own; a namespace per case. `login` is `user:password@`, or
 * nothing.
 */
export function redisStreamTarget(
  name: string,
  server: () => RedisServer,
  login = '',
): StreamTarget {
  return {
    name,
    promises: redisStreams('redis://unused', { topic: 'unused' }).promises,
    impossible: { stepClock: 'the wall clock of a real server is that of the machine' },
    create: async () => new RedisStreamSubject(server(), login),
  };
}

let namespaceCount = 0;

class RedisStreamSubject implements StreamSubject {
  readonly runtime = realRuntime;
  readonly timeoutMs = 1_000;
  readonly timerSlackMs = 150;
  readonly largestPayloadBytes = 128 * 1024;
  readonly controls: Partial<StreamControls>;
  readonly #server: RedisServer;
  readonly #login: string;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #stores = new ProxiedClients<StreamStore>();
  readonly #admin: Redis;

  constructor(server: RedisServer, login: string) {
    this.#server = server;
    this.#login = login;
    this.#admin = new Redis(server.url);
    this.#admin.on('error', () => {});
    this.controls = this.#controls();
  }

  async connect(): Promise<StreamStore> {
    const proxy = await FaultProxy.start(this.#server.port);
    const store = redisStreams(`redis://${this.#login}127.0.0.1:${proxy.port}`, {
      namespace: this.#namespace,
      topic: 'orders',
      largestPayloadBytes: this.largestPayloadBytes,
      connectTimeoutMs: 500,
    });
    this.#stores.add(store, proxy);
    // Connected before the first disturbance, so that this meets requests and not the login.
    await store.backlog([0], { timeoutMs: 30_000 });
    return store;
  }

  async advance(durationMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, durationMs + 1));
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async close(): Promise<void> {
    await this.#stores.close();
    await this.#admin.flushall();
    this.#admin.disconnect();
  }

  #key(shard: number, part: string): string {
    const namespace = this.#namespace.replaceAll('/', '%2F');
    return `{tenure:${namespace}:orders:s${shard}}:${part}`;
  }

  #controls(): Partial<StreamControls> {
    const { hang, loseReplies, holdRequests, heal } = this.#stores.controls;
    return {
      hang,
      loseReplies,
      holdRequests,
      heal,
      flushRequests: async (store) => {
        this.#stores.proxyOf(store).up.heal();
        // By its second answer the server has taken in what had reached it before the first question.
        await this.#admin.ping();
        await this.#admin.ping();
      },
      duplicateRequests: (store) => this.#stores.proxyOf(store).duplicate(),
      appendForeign: async (shard) => {
        const log = this.#key(shard, 'log');
        const position = await this.#admin.xadd(log, '*', 'm2', 'of another format');
        return async () => void (await this.#admin.xdel(log, String(position)));
      },
      overwriteState: async (shard) => {
        const keys = ['owner', 'keys'].map((part) => this.#key(shard, part));
        const undo: (() => Promise<unknown>)[] = [];
        for (const key of keys) {
          const aside = `${key}:aside`;
          const wasThere = (await this.#admin.exists(key)) === 1;
          if (wasThere) await this.#admin.rename(key, aside);
          await this.#admin.set(key, 'foreign');
          undo.push(() => (wasThere ? this.#admin.rename(aside, key) : this.#admin.del(key)));
        }
        return async () => {
          for (const each of undo) await each();
        };
      },
      restartKeepingData: () => this.#server.restart({ keepData: true }),
      restartLosingData: () => this.#server.restart({ keepData: false }),
    };
  }
}
