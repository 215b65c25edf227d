import assert from 'node:assert/strict';
import type { FencingToken } from '../contract.js';
import { assertStale, checked, freshName, tokenOf } from './scenario.js';
import type { BatchFenceCase } from './subject.js';

/** A token that writes down what it is told. */
function listeningToken(name: string, term: number): FencingToken & { readonly told: unknown[] } {
  const told: unknown[] = [];
  return { ...tokenOf(name, term), told, supersede: (installedTerm) => told.push(installedTerm) };
}

/** What a refusal means to the token that was refused. */
export const refusalCases: readonly BatchFenceCase[] = [
  {
    id: 'refusal-ends-the-token',
    title: 'tells a token that it is refused, and by which term, so that a lease ends at once',
    async run(subject) {
      const { fence, other } = subject;
      const name = freshName('ended');
      const owner = listeningToken(name, 6);
      const stale = listeningToken(name, 5);
      await fence.claim(owner);
      const attempts = {
        claim: () => fence.claim(stale),
        transaction: () => other.transaction(stale, async () => {}),
        check: () => checked(subject, fence, stale, async () => {}),
      };
      for (const [step, attempt] of Object.entries(attempts)) {
        stale.told.length = 0;
        await assertStale(attempt(), 5, 6);
        assert.ok(stale.told.length > 0, `a token that was refused by ${step} was not told`);
        assert.deepEqual([...new Set(stale.told)], [6]);
      }
      await fence.transaction(owner, async () => {});
      assert.deepEqual(owner.told, [], 'a token that passed was told that it is refused');
    },
  },
];
