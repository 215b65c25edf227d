/**
 * The old owner, to be frozen by rounds.ts: run with the address of a store's module and its target, and told what to do
 * over the channel to its parent.
 */
import { register } from 'node:module';

register('../typescript-hooks.mjs', import.meta.url);
const { serveRounds } = await import('./writer.js');
const [url = '', target = ''] = process.argv.slice(2);
const { store } = await import(url);
await serveRounds(await store.open(target));
