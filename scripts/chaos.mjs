/** `npm run chaos`: real processes and real servers meet with what a seed has in store for them. See docs/chaos.md. */
import { register } from 'node:module';
import { ensureBuilt, ensureDependencies } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { storesOrFail } from './stores.mjs';

ensureDependencies();
ensureBuilt();
ensureServers(storesOrFail());
register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { main } = await import('../tests/chaos/main.js');
await main(process.argv.slice(2));
