import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { TenureError } from '../../../src/errors/index.js';
import { fenceCases, registerFenceConformance } from '../../../src/fences/conformance/index.js';
import { memorySubject } from '../memory-subject.js';
import { installing } from './installing.js';
import { judging } from './judging.js';
import { recording } from './recording.js';
import { TemplateFence } from './template.js';
import { working } from './working.js';

const wrongFences = [...judging, ...installing, ...working, ...recording];

registerFenceConformance(
  'the template of the wrong fences',
  async () => memorySubject((resource) => new TemplateFence(resource)),
  { describe, it },
);

describe.each(wrongFences)('a fence that $title', ({ rejectedBy, guard }) => {
  it.each(rejectedBy)('is rejected by %s', async (id) => {
    const one = fenceCases.find((candidate) => candidate.id === id);
    if (one === undefined) throw new Error(`there is no case ${id}`);
    const subject = memorySubject(guard);
    const error = await one.run(subject).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // Found out by what it did, not by a bug in the wrong fence.
    const isVerdict = error instanceof AssertionError || error instanceof TenureError;
    expect(isVerdict, `${error}`).toBe(true);
    await subject.close();
  });
});

describe('the conformance suite of fences', () => {
  it('has no case that no wrong fence has shown to be able to fail', () => {
    const proven = new Set(wrongFences.flatMap(({ rejectedBy }) => rejectedBy));
    const unproven = fenceCases.map(({ id }) => id).filter((id) => !proven.has(id));
    expect(unproven).toEqual([]);
  });
});
