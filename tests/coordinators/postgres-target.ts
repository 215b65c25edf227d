import type { Socket } from 'node:net';
import pg from 'pg';
import type { Coordinator } from '../../src/coordinators/index.js';
import { groupOf } from '../../src/coordinators/names.js';
import { postgresPromises } from '../../src/coordinators/postgres/promises.js';
import { postgresCoordinator } from '../../src/postgres.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { realRuntime } from '../../src/time/index.js';
import { ProxiedClients } from '../support/proxied-clients.js';
import { FaultProxy } from '../support/proxy.js';
import type { PostgresServer } from '../support/servers/index.js';

export interface PostgresTargetOptions {
  /** What this target cannot do. */
  readonly impossible?: ConformanceTarget['impossible'];
  /** A copy of the server's data with a schema in it and nothing else; needed for a restart that loses all. */
  readonly emptyCopy?: () => string;
  /** Where clients connect to, if not to the server itself: a pooler. */
  readonly through?: () => { readonly port: number };
}

/** Real coordinators on a real server, each behind a proxy of its own; a namespace per case. */
export function postgresTarget(
  name: string,
  server: () => PostgresServer,
  options: PostgresTargetOptions = {},
): ConformanceTarget {
  return {
    name,
    promises: postgresPromises,
    impossible: options.impossible ?? {},
    create: async () => new PostgresSubject(server(), options),
  };
}

let namespaceCount = 0;

class PostgresSubject implements ConformanceSubject {
  readonly ttlMs = 2_000;
  readonly timeoutMs = 1_000;
  readonly timerSlackMs = 250;
  readonly runtime = realRuntime;
  readonly controls: SubjectControls;
  readonly server: PostgresServer;
  readonly #options: PostgresTargetOptions;
  readonly #namespace = `case/${process.pid}/${namespaceCount++}`;
  /** Tells the server's sessions of this subject from those of others. */
  readonly #application = this.#namespace.replaceAll('/', '-');
  readonly #clients = new ProxiedClients<Coordinator>();
  #nameCount = 0;

  constructor(server: PostgresServer, options: PostgresTargetOptions) {
    this.server = server;
    this.#options = options;
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const proxy = await FaultProxy.start(this.#options.through?.().port ?? this.server.port);
    const url = new URL(this.server.url);
    url.port = String(proxy.port);
    url.searchParams.set('application_name', this.#application);
    const client = postgresCoordinator(url, {
      namespace: this.#namespace,
      runtime: this.#clients.runtime,
      connectTimeoutMs: 1_000,
    });
    this.#clients.add(client, proxy);
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
    if (this.server.clockOffsetMs !== 0) this.server.stepClock(-this.server.clockOffsetMs);
  }

  /** What an operator does with a tool of their own. */
  async #asOperator<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
    const operator = new pg.Client({ connectionString: this.server.url });
    await operator.connect();
    try {
      return (await operator.query<Row>(text, values)).rows;
    } finally {
      await operator.end();
    }
  }

  #controls(): SubjectControls {
    const key = (name: string) => [this.#namespace, name];
    return {
      ...this.#clients.controls,
      flushRequests: (client) => this.#untilExecuted(() => this.#clients.proxyOf(client).up.heal()),
      duplicateRequests: async (client) =>
        this.#clients.proxyOf(client).duplicate(await this.#loggedIn()),
      deleteRecord: async (name) => {
        await this.#asOperator(
          'DELETE FROM tenure.leases WHERE namespace = $1 AND name = $2',
          key(name),
        );
      },
      overwriteRecord: async (name, text) => {
        await this.#asOperator(
          `INSERT INTO tenure.leases (namespace, name, name_group, kind) VALUES ($1, $2, $3, $4)
           ON CONFLICT (namespace, name) DO UPDATE SET kind = excluded.kind`,
          [...key(name), groupOf(name), text],
        );
      },
      foreignText: async (name) => {
        const [row] = await this.#asOperator<{ kind: string }>(
          'SELECT kind FROM tenure.leases WHERE namespace = $1 AND name = $2',
          key(name),
        );
        return row?.kind === 'lease' || row?.kind === 'reservation' ? undefined : row?.kind;
      },
      restartKeepingData: () => this.server.restart(),
      restartLosingData: () => this.server.restartFrom(this.#options.emptyCopy?.() ?? ''),
      loseTail: async (during) => {
        const copy = await this.server.copyData();
        await during();
        await this.server.restartFrom(copy);
      },
      stepClock: async (stepMs) => this.server.stepClock(stepMs),
    };
  }

  /** Until a session of this subject has ended since, or has executed something, and nothing is under way in one. */
  async #untilExecuted(flush: () => void): Promise<void> {
    // A pooler's sessions do not tell whom they serve.
    const isPooled = this.#options.through !== undefined;
    const before = isPooled ? [] : await this.#sessions();
    flush();
    if (isPooled) return this.advance(40);
    for (let tries = 0; tries < 50; tries += 1) {
      await this.advance(10);
      const now = await this.#sessions();
      const since = new Map(now.map(({ pid, since }) => [pid, since]));
      const isNews = before.some(({ pid, since: then }) => since.get(pid) !== then);
      if (isNews && now.every(({ state }) => state !== 'active')) return;
    }
  }

  #sessions() {
    return this.#asOperator<{ pid: number; state: string; since: string }>(
      'SELECT pid, state, state_change::text AS since FROM pg_stat_activity WHERE application_name = $1',
      [this.#application],
    );
  }

  /** A session of its own, for requests that are executed twice. */
  async #loggedIn(): Promise<Socket> {
    const client = new pg.Client({ connectionString: this.server.url });
    client.on('error', () => {});
    await client.connect();
    const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } })
      .connection;
    stream.removeAllListeners('data');
    return stream;
  }
}
