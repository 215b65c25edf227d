import { describe, expect, it } from 'vitest';
import { ClosedError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFenceOptions, postgresFence } from '../../../src/fences/postgres/index.js';
import { limitsItsPool } from '../stored-fences.js';
import { database, fence, pool, useDatabase } from './stage.js';

useDatabase();

describe('a pool of the user', () => {
  it("never closes the user's pool", async () => {
    await fence.close();
    await expect(fence.claim(tokenOf('closed', 1))).rejects.toBeInstanceOf(ClosedError);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('is not confused with one that the fence opens', () => {
    expect(() => postgresFence(pool, { maxConnections: 5 })).toThrow(/set `max` of that pool/);
  });
});

describe('a pool that the PostgreSQL fence opens', () => {
  limitsItsPool((options: PostgresFenceOptions) => postgresFence(database.url, options));
});
