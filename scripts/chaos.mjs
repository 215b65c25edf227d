/** `npm run chaos`: real processes and real servers meet with what a seed has in store for them. See docs/chaos.md. */
import { register } from 'node:module';
import { ensureBuilt, ensureDependencies } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { storesOrFail } from './stores.mjs';
import { answerHelp, chaosUsage, readOrEnd } from './usage.mjs';

answerHelp(chaosUsage);
ensureDependencies();
register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { main, settingsOf } = await import('../tests/chaos/main.js');
const settings = readOrEnd(chaosUsage, () => settingsOf(process.argv.slice(2)));
ensureBuilt();
ensureServers(storesOrFail());
await main(settings);
