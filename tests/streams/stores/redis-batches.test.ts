import { describe, expect, it } from 'vitest';
import { defineScript, type RedisConnection } from '../../../src/drivers/redis/index.js';
import {
  OutcomeUnknownError,
  StoreRefusedError,
  tooLateCode,
  UnreachableError,
} from '../../../src/errors/index.js';
import { runBatch } from '../../../src/streams/redis/calls.js';
import { chunksOf } from '../../../src/streams/redis/chunks.js';

/** What a batch of three pieces comes to when some of them fail. */

const script = defineScript('test', 'return 1');

/** A connection that answers each piece with the next outcome, and counts what it was asked. */
function connection(outcomes: readonly (Error | undefined)[]) {
  const asked: unknown[] = [];
  const run = async (_script: unknown, keys: readonly string[]) => {
    const outcome = outcomes[asked.length];
    asked.push(keys);
    if (outcome !== undefined) throw outcome;
    return keys.map((key) => `=${key}`);
  };
  return { asked, fake: { run, budget: () => () => 100 } as unknown as RedisConnection };
}

function batch(lateAnswer?: string) {
  return {
    script,
    chunks: [['a', 'b'], ['c'], ['d', 'e']],
    describe: (chunk: readonly string[]) => ({ keys: chunk, args: [] }),
    ...(lateAnswer === undefined ? {} : { lateAnswer }),
  };
}

const late = new StoreRefusedError(tooLateCode, 'too late');
const unreachable = new UnreachableError('not sent');

describe('a batch in pieces', () => {
  it('answers each item, in the order of the batch', async () => {
    const { fake } = connection([]);
    expect(await runBatch(fake, batch(), 100)).toEqual(['=a', '=b', '=c', '=d', '=e']);
  });

  it('passes on what became of the first piece, and sends no other', async () => {
    const { fake, asked } = connection([unreachable]);
    await expect(runBatch(fake, batch(), 100)).rejects.toBe(unreachable);
    expect(asked).toHaveLength(1);
  });

  it('does not call it unexecuted once a piece was', async () => {
    const { fake, asked } = connection([undefined, unreachable]);
    await expect(runBatch(fake, batch(), 100)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(asked).toHaveLength(2);
  });

  it('answers what came too late as that, and sends nothing after it', async () => {
    const { fake, asked } = connection([undefined, late]);
    expect(await runBatch(fake, batch('l'), 100)).toEqual(['=a', '=b', 'l', 'l', 'l']);
    expect(asked).toHaveLength(2);
  });
});

describe('chunksOf', () => {
  const limits = { count: 3, weight: 10 };
  const cut = (weights: readonly number[]) => chunksOf(weights, limits, (weight) => weight);

  it('cuts at either limit and keeps the order', () => {
    expect(cut([])).toEqual([]);
    expect(cut([1, 2, 3, 4])).toEqual([[1, 2, 3], [4]]);
    expect(cut([6, 4, 1])).toEqual([[6, 4], [1]]);
  });

  it('gives an item that exceeds every limit a piece of its own', () => {
    expect(cut([1, 50, 1])).toEqual([[1], [50], [1]]);
  });
});
