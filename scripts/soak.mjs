/** `npm run soak`: replicas at work for a long time without any fault, and whether anything grows. See docs/chaos.md. */
import { register } from 'node:module';
import { ensureBuilt, ensureDependencies } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { answerHelp, readOrEnd, soakUsage } from './usage.mjs';

answerHelp(soakUsage);
ensureDependencies();
register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { main, settingsOf } = await import('../tests/soak/main.js');
const args = process.argv.slice(2);
const settings = readOrEnd(soakUsage, () => settingsOf(args));
ensureBuilt();
ensureServers(['memory', 'sqlite', 'redis', 'postgres']);
await main(settings, ['npm run soak --', ...args].join(' '));
