/** A writer to be killed by crash.test.ts: run with a path, a name, a term, and `inside` or `after` its transaction. */
import { register } from 'node:module';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { sqliteFence } = await import('../../../src/fences/sqlite/index.js');
const { tokenOf } = await import('../../../src/fences/conformance/scenario.js');

const [path = '', name = '', term = '', when = ''] = process.argv.slice(2);
const fence = sqliteFence(path);
setInterval(() => {}, 1000);
await fence.transaction(tokenOf(name, Number(term)), async (open) => {
  await fence.recordOnce(open, name, 'key', 1, 'm1');
  open.run('INSERT INTO data VALUES (?, ?)', name, 'from the child');
  if (when !== 'inside') return;
  console.log('ready');
  await new Promise(() => {});
});
console.log('ready');
