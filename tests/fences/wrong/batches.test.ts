import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { TenureError } from '../../../src/errors/index.js';
import {
  batchFenceCases,
  fenceCases,
  registerBatchFenceConformance,
} from '../../../src/fences/conformance/index.js';
import { BatchTemplate, batchSubject, wrongBatchFences } from './batches.js';

registerBatchFenceConformance(
  'the template of the wrong fences for batches',
  async () => batchSubject(BatchTemplate),
  { describe, it },
);

describe('a fence for batches', () => {
  it.each(wrongBatchFences)('that %s is rejected', async (_title, kind, id) => {
    const one = batchFenceCases.find((candidate) => candidate.id === id);
    if (one === undefined) throw new Error(`there is no case ${id}`);
    const subject = batchSubject(kind);
    const error = await one.run(subject).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // Found out by what it did, not by a bug in the wrong fence.
    const isVerdict = error instanceof AssertionError || error instanceof TenureError;
    expect(isVerdict, `${error}`).toBe(true);
    await subject.close();
  });

  it('has no case of its own that no wrong fence has shown to be able to fail', () => {
    const proven = new Set<string>(wrongBatchFences.map(([, , id]) => id));
    const common = new Set(fenceCases.map(({ id }) => id));
    const own = batchFenceCases.map(({ id }) => id).filter((id) => !common.has(id));
    expect(own.filter((id) => !proven.has(id))).toEqual([]);
  });
});
