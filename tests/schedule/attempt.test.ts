import { expect, it } from 'vitest';
import type { Lease } from '../../src/leases/index.js';
import { runAt, tokenOf } from '../../src/schedule/conformance/scene.js';
import { Attempt } from '../../src/schedule/leader/attempt.js';
import { Pen } from '../../src/schedule/leader/pen.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

it('tells work that saves for the last time why, where nothing could be asked any more', async () => {
  const runtime = new VirtualRuntime();
  const ttlMs = 6_000;
  const endMs = runtime.now().monotonicMs + ttlMs / 3;
  const store = memoryJobs(new MemoryJobs(), { runtime });
  // It is uncertain for as long as a leader that was told to stop goes on writing, and held again just then.
  const lease = {
    ...tokenOf(1),
    signal: new AbortController().signal,
    get state() {
      return runtime.now().monotonicMs < endMs ? 'uncertain' : 'held';
    },
  } as unknown as Lease;
  const stop = new AbortController();
  const { signal: stopping } = stop;
  const pen = new Pen({
    ...{ store, lease, runtime, ttlMs, stopping },
    callTimeoutMs: 1_000,
    failed: () => {},
  });
  stop.abort();
  let told: unknown;
  const attempt = new Attempt({
    ...{ pen, runtime, stopping },
    run: runAt(tokenOf(1), 1),
    work: async ({ progress }) => {
      await progress.save(1).catch((error: unknown) => {
        told = error;
      });
    },
    ...{ timeoutMs: Number.POSITIVE_INFINITY, overdueAfterMs: ttlMs, overdue: () => {} },
  });
  const outcome = attempt.run();
  await runtime.advance(ttlMs);
  await outcome;
  expect(told).toBeInstanceOf(Error);
  await store.close();
});
