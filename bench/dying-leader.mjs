/** A process that leads until it is killed. Arguments: URL of the store, namespace, name of the election, ttl in ms. */
import { register } from 'node:module';

register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { openCoordinator } = await import('./open.js');
const { Leases } = await import('../src/leases/index.js');
const { Elections } = await import('../src/elections/index.js');
const [url = '', namespace = '', name = '', ttlMs = ''] = process.argv.slice(2);
const leases = new Leases(openCoordinator(url, namespace), {
  id: `leader-${process.pid}`,
  ttlMs: Number(ttlMs),
});
await new Elections(leases).election(name).campaign();
process.send?.('leading');
