import { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { postgresJobs } from '../../src/postgres.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

/** A database for the file, with the tables of jobs in it, and a pool to look and write there beside them. */
export class JobsDatabase {
  #database: FreshDatabase | undefined;
  #pool: Pool | undefined;

  constructor(connectionCount: number) {
    beforeAll(async () => {
      this.#database = await freshPostgresDatabase(inject('postgresUrl'));
      this.#pool = new Pool({ connectionString: this.url, max: connectionCount });
      const store = postgresJobs(this.url);
      await store.migrate();
      await store.close();
    });
    afterAll(async () => {
      await this.#pool?.end();
      await this.#database?.drop();
    });
  }

  get url(): string {
    return this.#database?.url ?? expect.fail('there is no database yet');
  }

  get pool(): Pool {
    return this.#pool ?? expect.fail('there is no pool yet');
  }
}
