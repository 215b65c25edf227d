import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { clockOriginMs, elapsedMs, type Instant, realRuntime } from '../../../src/time/index.js';

/** Readings of uptime are 10 ms coarse; those of the monotonic clock are not. */
const uptimeSlackMs = 11;

// The thread compiles its sources, which takes its time on a busy machine.
describe('the clock of a thread', { timeout: 30_000 }, () => {
  const threads: Worker[] = [];
  afterEach(() => Promise.all(threads.splice(0).map((thread) => thread.terminate())));

  /** What another thread reads, between two readings of this one. */
  async function readAround(originMs: number): Promise<[Instant, Instant, Instant]> {
    const thread = new Worker(new URL('./clock-reader.mjs', import.meta.url), {
      workerData: originMs,
    });
    threads.push(thread);
    await once(thread, 'message');
    const before = realRuntime.now();
    thread.postMessage('read');
    const [there] = (await once(thread, 'message')) as [Instant];
    return [before, there, realRuntime.now()];
  }

  it('reads instants that fall between two of the thread that gave its origin', async () => {
    const [before, there, after] = await readAround(clockOriginMs());
    expect(there.monotonicMs).toBeGreaterThan(before.monotonicMs - 0.05);
    expect(there.monotonicMs).toBeLessThan(after.monotonicMs + 0.05);
    expect(there.uptimeMs).toBeGreaterThan(before.uptimeMs - uptimeSlackMs);
    expect(there.uptimeMs).toBeLessThan(after.uptimeMs + uptimeSlackMs);
    expect(elapsedMs(before, there)).toBeGreaterThan(-0.05);
  });

  it('follows the origin, wherever the own clock of the thread began', async () => {
    const hourMs = 3_600_000;
    const [before, there, after] = await readAround(clockOriginMs() - hourMs);
    expect(there.monotonicMs - hourMs).toBeGreaterThan(before.monotonicMs - 0.05);
    expect(there.monotonicMs - hourMs).toBeLessThan(after.monotonicMs + 0.05);
  });

  it('has an origin that does not move', async () => {
    const origins = Array.from({ length: 50 }, () => clockOriginMs());
    expect(Math.max(...origins) - Math.min(...origins)).toBeLessThan(0.05);
  });
});
