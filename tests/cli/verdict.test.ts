import { describe, expect, it } from 'vitest';
import { untilSettled } from '../../src/cli/demo/settled.js';
import type { Answer } from '../../src/cli/demo/sink.js';
import { judge, type Verdict } from '../../src/cli/demo/verdict.js';
import { shardOf } from '../../src/shards/index.js';
import { elapsedMs } from '../../src/time/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

/** Three messages of one customer, handled as they should be. */
const good = [1, 2, 3].map(
  (seq): Answer => ({
    number: seq,
    customer: 'mira',
    seq,
    text: 'I want a refund',
    reply: 'refund opened',
    worker: 'w1',
    shard: 55,
    term: 100,
    begunAtMs: seq * 10,
    finishedAtMs: seq * 10 + 5,
  }),
);
const [first, second, third] = good as [Answer, Answer, Answer];
const published = good.map(({ customer, seq, number }) => ({ customer, seq, number }));

const faults: [string, Answer[], Partial<Verdict>][] = [
  ['a lost message', [first, second], { lostCount: 1, handledCount: 2 }],
  ['a second effect', [first, second, third, third], { duplicateCount: 1, inversionCount: 1 }],
  ['an inversion', [first, third, second], { inversionCount: 1 }],
  ['two at once', [first, { ...second, begunAtMs: 14 }, third], { overlapCount: 1 }],
  ['a stale write', [first, second, { ...third, term: 99 }], { staleCount: 1 }],
];

describe('the verdict of the demo', () => {
  it('holds for messages that are handled once each, in order, under rising terms', () => {
    const verdict = judge(
      published,
      [first, { ...second, term: 101 }, { ...third, term: 102 }],
      [],
    );
    expect(verdict).toMatchObject({ holds: true, publishedCount: 3, handledCount: 3 });
  });

  it.each(faults)('sees %s', (_fault, answers, figures) => {
    expect(judge(published, answers, [])).toMatchObject({ ...figures, holds: false });
  });

  it('tells what the log still has from what is lost', () => {
    const backlog = new Map([[shardOf('mira'), 1]]);
    expect(judge(published, [first, second], [], backlog)).toMatchObject({
      waitingCount: 1,
      lostCount: 0,
      holds: false,
    });
    // Never again handled: a later one of the customer was.
    expect(judge(published, [first, third], [], backlog)).toMatchObject({
      waitingCount: 0,
      lostCount: 1,
    });
  });

  it.each([
    ['goes on as long as something moves', 60_000, 3, 15_000],
    ['ends when nothing has moved for some seconds', 5_000, 1, 15_000],
  ])('%s', async (_what, untilMs, handledAtLeast, aroundMs) => {
    const runtime = new VirtualRuntime();
    const begun = runtime.now();
    let handledCount = 0;
    const settled = untilSettled(
      3,
      async () => {
        const ms = elapsedMs(begun, runtime.now());
        if (ms <= untilMs) handledCount = Math.floor(ms / 5_000);
        return { handledCount, waitingCount: 3 - handledCount };
      },
      new AbortController().signal,
      runtime,
    );
    await runtime.advanceUntil(settled);
    expect(handledCount).toBe(handledAtLeast);
    expect(elapsedMs(begun, runtime.now())).toBeCloseTo(aroundMs, -3);
  });

  it('sees a write that was refused and is there nevertheless', () => {
    const refused = [{ ...first, term: 100 }];
    expect(judge(published, good, refused)).toMatchObject({ refusedButKeptCount: 1, holds: false });
  });

  it('takes a refused write for one that does no harm', () => {
    const refused = [{ ...first, term: 99 }];
    expect(judge(published, good, refused)).toMatchObject({ refusedCount: 1, holds: true });
  });
});
