import { describe, expect, it } from 'vitest';
import { ClosedError, UnreachableError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFenceOptions, postgresFence } from '../../../src/fences/postgres/index.js';
import { postgresOnce } from '../../../src/once/postgres/index.js';
import { limitsItsPool } from '../stored-fences.js';
import { database, fence, pool, useDatabase } from './stage.js';
import { openPool } from './subject.js';

useDatabase();

describe('a pool of the user', () => {
  it("never closes the user's pool", async () => {
    await fence.close();
    await expect(fence.claim(tokenOf('closed', 1))).rejects.toBeInstanceOf(ClosedError);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('that was ended is told as that, and not as a server that is away', async () => {
    const ended = openPool(database.url);
    const onEnded = postgresFence(ended);
    await ended.end();
    for (const asked of [onEnded.claim(tokenOf('ended', 1)), onEnded.installedTerm('ended')]) {
      await expect(asked).rejects.toBeInstanceOf(UnreachableError);
      await expect(asked).rejects.toThrow(
        /failed: the pool that was passed has been ended, so nothing was sent\. End it after/,
      );
    }
    const keys = postgresOnce(ended as never);
    const read = keys.read('key', { timeoutMs: 1000 });
    await expect(read).rejects.toThrow('the pool that was passed has been ended');
    await keys.close();
  });

  it('is not confused with one that the fence opens', () => {
    expect(() => postgresFence(pool, { maxConnections: 5 })).toThrow(/set `max` of that pool/);
  });
});

describe('a pool that the PostgreSQL fence opens', () => {
  limitsItsPool((options: PostgresFenceOptions) => postgresFence(database.url, options));
});
