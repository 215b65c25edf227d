// @ts-check
/**
 * Two owners, one after the other, and a request of the first that was on its way for too long.
 *
 *     node examples/http-fence/run.mjs
 */
import { Leases } from 'tenure';
import { fencedFetch } from 'tenure/http';
import { memoryCoordinator } from 'tenure/memory';
import { startService } from './service.mjs';

const server = await startService(0);
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}/accounts/acme/deposits`;

const coordinator = memoryCoordinator(); // in production, a store that all processes share
const first = new Leases(coordinator, { id: 'first' });
const second = new Leases(coordinator, { id: 'second' });

const lease = await acquire(first);
const deposit = fencedFetch(lease);
const response = await deposit(url, { method: 'POST', body: '100', idempotencyKey: 'order-1' });
console.log(`first: ${(await response.text()).trim()}`);

await lease.release();

const successor = await acquire(second);
const answer = await fencedFetch(successor)(url, { method: 'POST', body: '50' });
console.log(`second: ${(await answer.text()).trim()}`);

// What a process sends that froze between its check and its write; the headers are the same in every language.
const late = await fetch(url, {
  method: 'POST',
  body: '100',
  headers: {
    'Fencing-Token': String(lease.term),
    'Fencing-Holder': lease.holder.digest,
    'Fencing-Resource': encodeURIComponent(lease.name),
  },
});
console.log(`first, too late: ${late.status} ${late.headers.get('content-type')}`);

const balance = await fetch(`http://127.0.0.1:${port}/accounts/acme`);
console.log(`balance: ${(await balance.text()).trim()}`);

await Promise.all([first.close(), second.close()]);
server.closeAllConnections();
server.close();

/** @param {Leases} leases */
async function acquire(leases) {
  const granted = await leases.acquire('ledger/acme');
  if (granted === undefined) throw new Error('somebody else owns the ledger');
  return granted;
}
