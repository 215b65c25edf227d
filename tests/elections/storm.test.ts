import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { withoutRetries } from './fixture.js';
import { longestFlightMs, Storm } from './storm.js';

const seen = new Set<string>();
let refusedCount = 0;

describe('candidates in a storm of crashes, freezes, lost messages and operators', () => {
  let storm: Storm;

  afterEach(async () => {
    await storm.fixture.close();
    // Work that did not stop is left alone, and stops by itself.
    await storm.fixture.runtime.advance(10_000);
    expect(storm.fixture.runtime.pendingTimerCount).toBe(0);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'never lead two at a time, write only in their own terms, and always have a leader again (seed %i)',
    async (seed) => {
      storm = new Storm(seed);
      const { fixture } = storm;
      for (let step = 0; step < 400; step++) {
        await storm.step();
        expect(storm.believers.length, `at step ${step}`).toBeLessThanOrEqual(1);
      }
      await storm.calm();
      for (let step = 0; step < 40; step++) await storm.wait();
      const writes = fixture.witness.accepted.length;
      for (let step = 0; step < 24; step++) await storm.wait();
      expect(fixture.witness.accepted.length).toBeGreaterThan(writes);
      expect(storm.doubled).toEqual([]);
      expect(fixture.witness.violations([...storm.terms.values()], longestFlightMs)).toEqual([]);
      for (const log of storm.logs) expectPairs(log);
      for (const line of storm.logs.flat()) seen.add(line);
      refusedCount += fixture.witness.refused.length;
    },
  );

  afterAll(() => {
    // A storm in which nothing of this happened would have shown nothing.
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'lost expired',
        'lost unreachable',
        'lost revoked',
        'lost shutdown',
        'resigned released',
        'resigned handed-off',
        'workFailed the work failed',
        'workReturned',
        'workOverdue',
      ]),
    );
    expect(refusedCount).toBeGreaterThan(0);
  });
});

/** Every `elected` is followed by exactly one `lost` or `resigned`, before the next. */
function expectPairs(log: readonly string[]): void {
  const terms = withoutRetries(log)
    .map((line) => line.split(' ')[0])
    .filter((word) => word === 'elected' || word === 'lost' || word === 'resigned');
  for (const [index, word] of terms.entries())
    expect(word === 'elected', `${terms.join()} at ${index}`).toBe(index % 2 === 0);
}
