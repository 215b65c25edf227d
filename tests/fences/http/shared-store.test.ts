import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { StaleTermError } from '../../../src/errors/index.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { fencedFetch, fencingTokenOf, nodeFence } from '../../../src/http.js';
import { type Lease, Leases } from '../../../src/leases/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';
import { listening, type Running } from './subjects.js';

let database: FreshDatabase;
const fences: PostgresFence[] = [];
const services: Running[] = [];

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.close()));
  await Promise.all(fences.map((fence) => fence.close()));
  await database.drop();
});

/** One instance of a service that writes what it is sent into the table `writes`. */
async function startInstance(): Promise<string> {
  const fence = postgresFence(database.url);
  fences.push(fence);
  await fence.migrate();
  const service = await listening(
    createServer(
      nodeFence({ fence, resource: 'ledger' }, async (request, response) => {
        const token = fencingTokenOf(request) as FencingToken;
        await fence.transaction(token, async (client) => {
          await client.query('CREATE TABLE IF NOT EXISTS writes (path text)');
          await client.query('INSERT INTO writes VALUES ($1)', [request.url]);
        });
        response.end();
      }),
    ),
  );
  services.push(service);
  return service.url;
}

async function written(): Promise<unknown[]> {
  const [fence] = fences as [PostgresFence];
  const reader = { name: 'reader', term: 1, holder: { digest: '0'.repeat(32) } };
  const { rows } = await fence.transaction(reader as FencingToken, async (client) => {
    return await client.query('SELECT path FROM writes ORDER BY path');
  });
  return rows;
}

describe('a service of several instances behind the HTTP fence', () => {
  it('refuses at one what another has seen, and writes for the newest owner alone', async () => {
    const [one, other] = [await startInstance(), await startInstance()];
    const coordinator = memoryCoordinator();
    const [first, second] = [new Leases(coordinator), new Leases(coordinator)];
    const stale = (await first.acquire('ledger')) as Lease;
    const post = { method: 'POST' };
    expect((await fencedFetch(stale)(`${one}/1`, post)).status).toBe(200);
    // The store has given the name away, and the first owner does not know: so it is when a process is frozen.
    const { name, holder, term } = stale;
    await coordinator.release([{ name, holder, term }], { timeoutMs: 30_000 });
    const successor = (await second.acquire('ledger')) as Lease;
    expect((await fencedFetch(successor)(`${one}/2`, post)).status).toBe(200);
    expect(stale.state).toBe('held');
    await expect(fencedFetch(stale)(`${other}/3`, post)).rejects.toThrow(StaleTermError);
    expect([stale.endReason, stale.installedTerm]).toEqual(['superseded', successor.term]);
    expect((await fencedFetch(successor)(`${other}/4`, post)).status).toBe(200);
    expect(await written()).toEqual([{ path: '/1' }, { path: '/2' }, { path: '/4' }]);
    await Promise.all([first.close(), second.close()]);
  });
});
