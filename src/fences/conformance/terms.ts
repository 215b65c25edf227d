import assert from 'node:assert/strict';
import { Holder, highestTerm } from '../../coordinators/index.js';
import {
  assertStale,
  checked,
  freshName,
  isInteractive,
  outcomeOf,
  succeeded,
  tokenOf,
} from './scenario.js';
import type { BatchFenceCase, FenceCase } from './subject.js';

/** Which term passes, which installs, and which is refused. */
export const termCases: readonly BatchFenceCase[] = [
  {
    id: 'lower-term-refused',
    title: 'refuses a lower term everywhere, and the refused work never runs',
    async run(subject) {
      const { fence, other, write, read } = subject;
      const name = freshName('lower');
      await fence.claim(tokenOf(name, 5));
      const stale = tokenOf(name, 4);
      let ran = false;
      const work = async () => {
        ran = true;
      };
      await assertStale(other.transaction(stale, work), 4, 5);
      // A batch is checked when it is executed, and may be before.
      if (isInteractive(subject)) assert.equal(ran, false, 'work of a refused token ran');
      await assertStale(other.claim(stale), 4, 5);
      const own = checked(subject, other, stale, (open) => write(open, name, 'stale'));
      await assertStale(own, 4, 5);
      assert.equal(await read(name), undefined);
      assert.equal(await fence.installedTerm(name), 5);
    },
  },
  {
    id: 'equal-term-of-another-incarnation-refused',
    title: 'refuses the installed term from another incarnation, even of the same id',
    async run(subject) {
      const { fence, other, write, read } = subject;
      const name = freshName('equal');
      await fence.claim(tokenOf(name, 5, 'worker'));
      const twin = tokenOf(name, 5, 'worker');
      await assertStale(other.claim(twin), 5, 5);
      await assertStale(
        other.transaction(twin, (open) => write(open, name, 'twin')),
        5,
        5,
      );
      await assertStale(
        checked(subject, other, twin, async () => {}),
        5,
        5,
      );
      assert.equal(await read(name), undefined);
    },
  },
  {
    id: 'equal-term-of-the-holder-passes',
    title: 'lets the holder of the installed term write any number of times, from any process',
    async run(subject) {
      const { fence, other, write, read } = subject;
      const name = freshName('same');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      // What another process of the same incarnation (a child, say) has in its hands is a copy.
      const copy = { ...token, holder: Holder.parse(token.holder.wire) ?? token.holder };
      await fence.transaction(token, (open) => write(open, name, 'first'));
      await other.transaction(copy, (open) => write(open, name, 'second'));
      await checked(subject, other, copy, (open) => write(open, name, 'third'));
      assert.equal(await read(name), 'third');
    },
  },
  {
    id: 'claim-is-repeatable',
    title: 'takes a claim again without change, and keeps refusing everybody else',
    async run({ fence, other }) {
      const name = freshName('repeat');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      await other.claim(token);
      await fence.claim(token);
      assert.equal(await fence.installedTerm(name), 5);
      await assertStale(other.claim(tokenOf(name, 5)), 5, 5);
    },
  },
  {
    id: 'claim-installs',
    title: 'makes a claim count at once, for every handle on the resource',
    async run({ fence, other, write, read }) {
      const name = freshName('claim');
      const first = tokenOf(name, 5);
      await fence.transaction(first, (open) => write(open, name, 'first'));
      await other.claim(tokenOf(name, 6));
      assert.equal(await fence.installedTerm(name), 6);
      await assertStale(
        fence.transaction(first, (open) => write(open, name, 'late')),
        5,
        6,
      );
      assert.equal(await read(name), 'first');
    },
  },
  {
    id: 'higher-term-installs',
    title: 'installs a higher term with the first write that carries it, without a claim',
    async run(subject) {
      const { fence, other, write } = subject;
      const name = freshName('higher');
      assert.equal(await fence.installedTerm(name), undefined);
      const first = tokenOf(name, 5);
      await fence.transaction(first, (open) => write(open, name, 'five'));
      assert.equal(await other.installedTerm(name), 5);
      await checked(subject, other, tokenOf(name, 900), async () => {});
      assert.equal(await fence.installedTerm(name), 900);
      await assertStale(fence.claim(first), 5, 900);
    },
  },
  {
    id: 'highest-term-exact',
    title: 'keeps the highest term there can be without rounding it',
    async run({ fence, other }) {
      const name = freshName('highest');
      await fence.claim(tokenOf(name, highestTerm - 1));
      assert.equal(await other.installedTerm(name), highestTerm - 1);
      await fence.claim(tokenOf(name, highestTerm));
      assert.equal(await other.installedTerm(name), highestTerm);
      await assertStale(other.claim(tokenOf(name, highestTerm - 1)), highestTerm - 1, highestTerm);
    },
  },
  {
    id: 'names-are-independent',
    title: 'keeps names apart that differ by a letter, a slash, a quote or a composed accent',
    async run({ fence, other }) {
      const name = freshName('names');
      const variants = ['', '/child', 'X', "'; drop table fences; --", '"', '%2F', 'é', 'e\u0301'];
      for (const [index, suffix] of variants.entries()) {
        await fence.claim(tokenOf(name + suffix, 10 + index));
      }
      for (const [index, suffix] of variants.entries()) {
        assert.equal(await other.installedTerm(name + suffix), 10 + index, `suffix ${suffix}`);
      }
    },
  },
];

/** Which term passes a check of the user's own transaction. */
export const checkedTermCases: readonly FenceCase[] = [
  {
    id: 'two-names-one-transaction',
    title: 'guards one transaction by two names, and refuses it if either is stale',
    async run({ fence, other, transaction, write, read }) {
      const from = freshName('from');
      const to = freshName('to');
      const tokens = [tokenOf(from, 3), tokenOf(to, 4)];
      const move = async () =>
        await transaction(async (open) => {
          for (const token of tokens) await fence.check(open, token);
          await write(open, from, 'moved');
        });
      await other.claim(tokenOf(to, 5));
      assert.ok(!succeeded(await outcomeOf(move())), 'a stale second name passed');
      assert.equal(await read(from), undefined);
      assert.equal(await other.installedTerm(from), undefined, 'the refusal installed a term');
    },
  },
];
