/**
 * `npm test`: the whole suite, from a fresh clone. Arguments go to the test runner:
 * `npm test -- tests/leases`, `npm test -- -t 'fails closed'`.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureDependencies, root } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { storesOrFail } from './stores.mjs';

const stores = storesOrFail();
ensureDependencies();
ensureBuilt();
ensureServers(stores);

const runner = join(root, 'node_modules/vitest/vitest.mjs');
const { status } = spawnSync(process.execPath, [runner, 'run', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
