import { describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { OptionError } from '../../src/errors/index.js';
import { memoryFence } from '../../src/fences/memory/index.js';
import { postgresFence } from '../../src/fences/postgres/index.js';
import { realRuntime } from '../../src/time/index.js';
import { failure, untyped } from '../support/untyped.js';

/** Nobody is there: what is refused without being sent is refused all the same. */
const url = 'postgres://127.0.0.1:1/x';
const token = { name: 'n', term: 1, holder: Holder.create('a', realRuntime) };

describe('a wrong collaborator or null', () => {
  it.each<[string, string, () => unknown]>([
    ['options of null', 'options', () => postgresFence(url, untyped(null))],
    ['a runtime of 3', 'runtime', () => postgresFence(url, untyped({ runtime: 3 }))],
    ['a pool of null', 'pool', () => postgresFence(untyped(null))],
    ['a resource of null', 'resource', () => memoryFence(untyped(null))],
    ['a resource that is none', 'resource', () => memoryFence(untyped({}))],
  ])('is refused at construction: %s', async (_what, option, call) => {
    const error = await failure(call);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option, remedy: expect.stringMatching(/\w/) });
  });

  const fences = [
    ['memory', () => memoryFence()],
    ['PostgreSQL', () => postgresFence(url)],
  ] as const;

  describe.each(fences)('at a fence in %s', (_resource, open) => {
    it.each<[string, string, (fence: ReturnType<typeof open>) => unknown]>([
      ['claim(null)', 'token', (fence) => fence.claim(untyped(null))],
      ['claim(3)', 'token', (fence) => fence.claim(untyped(3))],
      [
        'a lease that was not awaited',
        'token',
        (fence) => fence.claim(untyped(Promise.resolve(token))),
      ],
      [
        'transaction(null, work)',
        'token',
        (fence) => fence.transaction(untyped(null), async () => {}),
      ],
      ['transaction(token)', 'work', (fence) => fence.transaction(token, untyped(undefined))],
      ['transaction(token, {})', 'work', (fence) => fence.transaction(token, untyped({}))],
    ])('is refused: %s', async (_what, option, call) => {
      const fence = open();
      const error = await failure(() => call(fence));
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option, remedy: expect.stringMatching(/\w/) });
      await fence.close();
    });
  });

  it('has claimed nothing', async () => {
    const fence = memoryFence();
    await failure(() => fence.transaction(token, untyped(undefined)));
    expect(await fence.installedTerm('n')).toBeUndefined();
  });
});
