/**
 * `npm run bench [-- NAME ...]`: runs the benchmarks on a Redis of their own and prints what they measured;
 * `-- [NAME ...] --stores etcd,postgres`: those that every store has, on servers of these stores.
 */
import { register } from 'node:module';
import { answerHelp, benchUsage } from '../scripts/usage.mjs';

answerHelp(benchUsage);
register('../tests/support/typescript-hooks.mjs', import.meta.url);
const { main } = await import('./main.js');
await main(process.argv.slice(2));
