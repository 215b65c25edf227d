import { EtcdKeys } from '../../src/coordinators/etcd/keys.js';
import { etcdPromises } from '../../src/coordinators/etcd/promises.js';
import type { Coordinator } from '../../src/coordinators/index.js';
import { EtcdClient, etcdLocation } from '../../src/drivers/etcd/index.js';
import { etcdCoordinator } from '../../src/etcd.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { ProxiedClients } from '../support/proxied-clients.js';
import { FaultProxy } from '../support/proxy.js';
import type { EtcdCluster } from '../support/servers/index.js';

/** Real coordinators on a real member, each behind a proxy of its own; a namespace per case. */
export function etcdTarget(
  cluster: () => EtcdCluster,
  impossible: ConformanceTarget['impossible'] = {},
): ConformanceTarget {
  return {
    name: 'etcd',
    promises: etcdPromises,
    impossible: {
      stepClock:
        'etcd is written in Go, which asks the kernel for the time: no clock of its own can be put under it, and leases follow its monotonic one',
      loseTail:
        'a member answers only after a majority has written to disk; what a restored snapshot does is shown by a test of its own',
      restartLosingData:
        'a new cluster begins with revision 1: no term survives that, and none is said to',
      ...impossible,
    },
    create: async () => new EtcdSubject(cluster()),
  };
}

let namespaceCount = 0;

class EtcdSubject implements ConformanceSubject {
  readonly ttlMs = 4_000;
  readonly timeoutMs = 2_000;
  readonly timerSlackMs = 250;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly #cluster: EtcdCluster;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  readonly #keys = new EtcdKeys('', this.#namespace);
  readonly #clients = new ProxiedClients<Coordinator>();
  readonly #admin: EtcdClient;
  #nameCount = 0;

  constructor(cluster: EtcdCluster) {
    this.#cluster = cluster;
    const location = etcdLocation(cluster.url, undefined);
    this.#admin = new EtcdClient({ what: 'the operator', location, runtime: realRuntime });
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const proxy = await FaultProxy.start(this.#cluster.members[0]?.port ?? 0);
    const client = etcdCoordinator(`etcd://127.0.0.1:${proxy.port}`, {
      namespace: this.#namespace,
      runtime: this.#clients.runtime,
    });
    this.#clients.add(client, proxy);
    // Connected before the first disturbance, so that this meets requests and not the first look.
    await client.read(['warm'], { timeoutMs: 30_000 });
    return client;
  }

  newName(): string {
    this.#nameCount += 1;
    return `group-${this.#nameCount}/name`;
  }

  /** A coordinator ends what was not renewed, and that takes it a few round trips. Within a third of a ttl nothing ends. */
  async advance(durationMs: number): Promise<void> {
    const isShort = durationMs > 10 && durationMs < this.ttlMs / 3;
    const waitMs = durationMs + (isShort ? 0 : endingMs);
    await new Promise((resolve) => setTimeout(resolve, waitMs + 1));
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async close(): Promise<void> {
    await this.#clients.close();
    this.#admin.close();
  }

  async #queue(name: string) {
    const range = this.#keys.queue(name);
    const deadline = this.#admin.deadline(5_000);
    const { found } = await this.#admin.read([{ kind: 'get', range }], 'a look', deadline);
    return found[0] ?? [];
  }

  #controls(): SubjectControls {
    return {
      ...this.#clients.controls,
      loseReplies: async (client) => this.#loseReplies(client),
      flushRequests: async (client) => {
        this.#clients.proxyOf(client).up.heal();
        await this.#queue('warm');
        await this.#queue('warm');
      },
      duplicateRequests: async (client) => this.#duplicate(this.#clients.proxyOf(client)),
      deleteRecord: async (name) => {
        const range = this.#keys.queue(name);
        const deadline = this.#admin.deadline(5_000);
        await this.#admin.txn([], [{ kind: 'delete', range }], 'a deletion', deadline);
      },
      overwriteRecord: async (name, text) => {
        const [leader] = await this.#queue(name);
        const key = leader?.key ?? `${this.#keys.election(name)}/foreign`;
        const deadline = this.#admin.deadline(5_000);
        const put = { kind: 'put', key, value: text, lease: '0' } as const;
        await this.#admin.txn([], [put], 'a text', deadline);
      },
      foreignText: async (name) =>
        (await this.#queue(name)).find(({ lease }) => lease === '0')?.value,
      restartKeepingData: async () => this.#cluster.members[0]?.restart({ keepData: true }),
      stepClock: impossible,
      loseTail: impossible,
      restartLosingData: impossible,
    };
  }

  /** Each request but a watch, which never ends, is executed once more before its first answer is passed on. */
  #duplicate(proxy: FaultProxy): void {
    let toRepeat: string[] = [];
    let repeatingCount = 0;
    const repeat = async (text: string) => {
      repeatingCount += 1;
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const path = /^POST (\S+)/.exec(head)?.[1];
      const url = `http://127.0.0.1:${this.#cluster.members[0]?.port}${path}`;
      await (await fetch(url, { method: 'POST', body })).text();
      repeatingCount -= 1;
      if (repeatingCount === 0) proxy.down.flush();
    };
    proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        const text = bytes.toString('latin1');
        if (/^POST (?!\/v3\/watch)/.test(text) && text.endsWith('}')) toRepeat.push(text);
        return 'none';
      },
    });
    const answered = () => {
      for (const text of toRepeat) repeat(text).catch(() => undefined);
      toRepeat = [];
      return repeatingCount > 0 ? 'hold' : 'none';
    };
    proxy.down.set({ kind: 'judge', fateOf: answered });
  }

  /** Reads are answered, so that a call gets as far as its write: the answer to that is lost. */
  async #loseReplies(client: Coordinator): Promise<void> {
    const proxy = this.#clients.proxyOf(client);
    let isLosing = false;
    proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        if (bytes.includes('request_put') || bytes.includes('request_delete_range'))
          isLosing = true;
        return 'none';
      },
    });
    proxy.down.set({ kind: 'judge', fateOf: () => (isLosing ? 'swallow' : 'none') });
  }
}

const endingMs = 200;

async function impossible(): Promise<never> {
  throw new Error('declared impossible');
}
