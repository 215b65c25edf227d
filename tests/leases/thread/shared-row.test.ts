import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { SharedRow } from '../../../src/leases/thread/shared-row.js';

/** Enough to see a torn row among them, if rows could be torn. */
const wantedChanges = 20_000;
const patienceMs = 15_000;

it('a shared row keeps numbers as they are', () => {
  const row = SharedRow.create([0.1, -1, Number.POSITIVE_INFINITY]);
  expect(new SharedRow(row.buffer).read()).toEqual([0.1, -1, Number.POSITIVE_INFINITY]);
});

it('a shared row tells by its version that it was written again', () => {
  const row = SharedRow.create([1]);
  const seen = new SharedRow(row.buffer).version;
  row.write([1]);
  expect(new SharedRow(row.buffer).version).not.toBe(seen);
});

it('a shared row is read whole and never goes back while another thread writes as fast as it can', async () => {
  const row = SharedRow.create([0, 0, 0]);
  const writer = new Worker(new URL('./row-writer.mjs', import.meta.url), {
    workerData: row.buffer,
  });
  try {
    await once(writer, 'message');
    let previous = 0;
    let changeCount = 0;
    const startedMs = performance.now();
    while (changeCount < wantedChanges && performance.now() - startedMs < patienceMs) {
      const [first = 0, second, third] = row.read();
      if (first !== second || second !== third || first < previous)
        throw new Error(`torn or turned back: ${[first, second, third]} after ${previous}`);
      if (first !== previous) changeCount += 1;
      previous = first;
    }
    expect(changeCount).toBe(wantedChanges);
  } finally {
    await writer.terminate();
  }
}, 30_000);

it('a shared row can be read for good after its writer was ended in the middle', async () => {
  const row = SharedRow.create([0, 0, 0]);
  const writer = new Worker(new URL('./row-writer.mjs', import.meta.url), {
    workerData: row.buffer,
  });
  await once(writer, 'message');
  await writer.terminate();
  const [first, second, third] = row.read();
  expect([second, third]).toEqual([first, first]);
}, 30_000);
