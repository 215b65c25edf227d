/** A worker process that owns shards until it is killed. Arguments: Redis URL, group, ttl in ms, shard count. */
import { register } from 'node:module';

register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { own } = await import('./owner.js');
const [url = '', group = '', ttlMs = '', shardCount = ''] = process.argv.slice(2);
await own(url, group, Number(ttlMs), Number(shardCount)).worker.start();
process.send?.('owning');
