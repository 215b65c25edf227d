/** What a process has in use, once everything is thrown away that nobody refers to. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** @returns {Promise<import('./sample.js').Usage>} */
export async function usageNow() {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error('start it with --expose-gc');
  // What a finalizer lets go of can be collected the next time.
  for (let round = 0; round < 3; round++) {
    collect();
    await sleep(20);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    rssBytes: rss,
    heapBytes: heapUsed + external,
    handleCount: process.getActiveResourcesInfo().length,
    fileCount: readdirSync('/proc/self/fd').length,
  };
}
