import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import { type PostgresServer, startPostgres } from '../../support/servers/index.js';
import { openPool, prepare } from './subject.js';

let server: PostgresServer;
const token = tokenOf('ledger', 5);

beforeAll(async () => {
  server = await startPostgres({ fsync: false });
  await prepare(server.url);
  const fence = postgresFence(server.url);
  await fence.claim(token);
  await fence.close();
  // The server comes up again as a standby of nobody: read-only, with all of its data.
  writeFileSync(join(server.dir, 'data', 'standby.signal'), '');
  await server.restart();
});

afterAll(async () => await server.stop());

describe('a standby under the PostgreSQL fence', () => {
  it('is named, and lets nobody pass, not even the holder of the term it has', async () => {
    const fence = postgresFence(server.url);
    for (const one of [token, tokenOf('ledger', 6), tokenOf('new', 1)]) {
      const claim = fence.claim(one);
      await expect(claim).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(claim).rejects.toThrow(/is a standby/);
    }
    await fence.close();
  });

  it("lets no check pass in a user's own transaction", async () => {
    const pool = openPool(server.url);
    const fence = postgresFence(pool);
    const client = await pool.connect();
    await client.query('BEGIN');
    const check = fence.check(client, token);
    await expect(check).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(check).rejects.toThrow(/read-only/);
    await client.query('ROLLBACK');
    client.release();
    await pool.end();
  });
});
