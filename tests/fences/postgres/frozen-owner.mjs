/**
 * An owner that freezes between its check and its commit: run by takeover.test.ts with a database URL, a name and a
 * term, and stopped with SIGSTOP as soon as it has said "checked". It commits when it is woken.
 */
import { register } from 'node:module';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { postgresFence } = await import('../../../src/fences/postgres/index.js');
const { tokenOf } = await import('../../../src/fences/conformance/scenario.js');

const [url = '', name = '', term = ''] = process.argv.slice(2);
const fence = postgresFence(url, { idleInTransactionTimeoutMs: 1000 });
const token = tokenOf(name, Number(term));
await fence.claim(token);
const answer = await fence
  .transaction(token, async (client) => {
    await client.query('INSERT INTO public.data VALUES ($1, $2)', [name, 'from the frozen owner']);
    const woken = new Promise((resolve) => process.once('SIGCONT', resolve));
    const alive = setInterval(() => {}, 1000);
    console.log('checked');
    await woken;
    clearInterval(alive);
  })
  .then(
    () => 'committed',
    (error) => `${error.name} ${error.storeCode ?? ''}`,
  );
console.log(answer);
await fence.close();
