import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { type AcquireRequest, Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import {
  migratePostgres,
  type PostgresCoordinator,
  type PostgresCoordinatorOptions,
  postgresCoordinator,
} from '../../src/postgres.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

export { call } from '../support/call.js';

export const operator = { by: 'ops', reason: 'maintenance' };

export const ann = Holder.create('ann', realRuntime);
export const bob = Holder.create('bob', realRuntime);

/** Expects of what a probe returns that it comes about, however busy the machine is. */
export function eventually<Value>(
  probe: () => Value | Promise<Value>,
  options: { readonly interval?: number } = {},
) {
  return expect.poll(probe, options);
}

/** Runs statements on a connection of their own. */
export async function runSql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** What tests say to a coordinator. */
export class Speaker {
  constructor(readonly coordinator: PostgresCoordinator) {}

  async acquire(name: string, parts: Partial<AcquireRequest> = {}) {
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder: ann, attempt, ttlMs: 60_000, ...parts };
    const [result] = await this.coordinator.acquire([request], call);
    return result ?? expect.fail('a batch of one has one result');
  }

  async take(name: string, parts: Partial<AcquireRequest> = {}): Promise<number> {
    const result = await this.acquire(name, parts);
    return result.outcome === 'granted' ? result.term : expect.fail(result.outcome);
  }

  async renew(name: string, term: number, ttlMs = 60_000, holder = ann): Promise<string> {
    const [result] = await this.coordinator.renew([{ name, holder, term, ttlMs }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? 'nothing');
  }

  async release(name: string, term: number, holder = ann): Promise<string> {
    const [result] = await this.coordinator.release([{ name, holder, term }], call);
    return result?.outcome === 'not-yours' ? result.reason : (result?.outcome ?? 'nothing');
  }

  async read(name: string): Promise<LeaseRecord | undefined> {
    return (await this.coordinator.read([name], call))[0];
  }
}

/** A database for the file in the server that all share, with a schema in it, and coordinators that are closed after each test. */
export class PostgresFixture {
  readonly #open: PostgresCoordinator[] = [];
  #database: FreshDatabase | undefined;

  constructor() {
    beforeAll(async () => {
      this.#database = await freshPostgresDatabase(inject('postgresUrl'));
      await migratePostgres(this.url);
    });
    afterEach(async () => {
      for (const coordinator of this.#open.splice(0)) await coordinator.close();
    });
    afterAll(() => this.#database?.drop());
  }

  get url(): string {
    return this.#database?.url ?? expect.fail('there is no database yet');
  }

  client(
    options: PostgresCoordinatorOptions = {},
    where: Parameters<typeof postgresCoordinator>[0] = this.url,
  ): PostgresCoordinator {
    const coordinator = postgresCoordinator(where, options);
    this.#open.push(coordinator);
    return coordinator;
  }

  speaker(
    options: PostgresCoordinatorOptions = {},
    where: Parameters<typeof postgresCoordinator>[0] = this.url,
  ): Speaker {
    return new Speaker(this.client(options, where));
  }

  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]> {
    return runSql<Row>(this.url, text, values);
  }
}
