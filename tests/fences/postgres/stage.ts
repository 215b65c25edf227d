import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import {
  type PostgresFence,
  type PostgresFenceOptions,
  postgresFence,
} from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase } from './subject.js';

export let database: FreshDatabase;
/** The user's, and a fence on it: new ones for each test. */
export let pool: pg.Pool;
export let fence: PostgresFence<pg.PoolClient>;

export const limits = { idleInTransactionTimeoutMs: 1000, waitTimeoutMs: 5000 };

/** A database for the tests of a file. */
export function useDatabase(options: PostgresFenceOptions = limits): void {
  beforeAll(async () => {
    database = await preparedDatabase(inject('postgresUrl'));
  });

  afterAll(async () => await database.drop());

  beforeEach(() => {
    pool = openPool(database.url);
    fence = postgresFence<pg.PoolClient>(pool, options);
  });

  afterEach(async () => {
    await fence.close();
    await pool.end();
  });
}
