/** `npm run soak`: replicas at work for a long time without any fault, and whether anything grows. See docs/chaos.md. */
import { register } from 'node:module';
import { ensureBuilt, ensureDependencies } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';

ensureDependencies();
ensureBuilt();
ensureServers(['memory', 'sqlite', 'redis', 'postgres']);
register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { main } = await import('../tests/soak/main.js');
await main(process.argv.slice(2));
