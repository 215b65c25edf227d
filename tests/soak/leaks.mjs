/** Leaks that a soak has to see: each grows slowly, and by something else. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @param {import('./run.js').Leak} leak
 * @param {import('./activities.mjs').Replica} replica
 * @param {AbortSignal} signal
 */
export function startLeak(leak, replica, signal) {
  /** @type {unknown[]} */
  const kept = [];
  /** @type {Record<import('./run.js').Leak, (count: number) => Promise<void>>} */
  const leaks = {
    async memory(count) {
      kept.push(`${count}`.padEnd(16_000, 'x').split('x'));
    },
    async handles() {
      kept.push(setInterval(() => {}, 60_000));
    },
    /** A history is kept for thirty days. */
    async keys(count) {
      await (await replica.leases.acquire(`leaked-${count}`, { keepHistory: true }))?.release();
    },
  };
  void (async () => {
    for (let count = 0; !signal.aborted; count++) {
      // A late answer on a busy machine is no leak.
      await leaks[leak](count).catch(() => {});
      await sleep(200, undefined, { signal }).catch(() => {});
    }
    for (const one of kept) clearInterval(/** @type {NodeJS.Timeout} */ (one));
  })();
}
