import assert from 'node:assert/strict';
import { ClosedError, OptionError } from '../../errors/index.js';
import { assertStale, freshName, Gate, outcomeOf, tokenOf } from './scenario.js';
import type { BatchFenceCase } from './subject.js';

/** What is so of batches alone: they are executed after the work that fills them, at once, and once. */
export const batchCases: readonly BatchFenceCase[] = [
  {
    id: 'batch-refused-whole',
    title: 'leaves nothing of a refused batch, neither its writes nor its records',
    async run({ fence, other, write, read }) {
      const name = freshName('whole');
      const owner = tokenOf(name, 5);
      await fence.claim(owner);
      const stale = other.transaction(tokenOf(name, 4), async (batch) => {
        await write(batch, name, 'stale');
        await other.recordOnce(batch, name, 'key', 1, 'm1');
      });
      await assertStale(stale, 4, 5);
      assert.equal(await read(name), undefined);
      const isNew = await fence.transaction(owner, (batch) =>
        fence.recordOnce(batch, name, 'key', 1, 'm1'),
      );
      assert.equal(isNew, true, 'a refused batch left its record');
    },
  },
  {
    id: 'batch-shows-nothing-before-its-end',
    title: 'executes nothing of a batch before its work has returned, and then all of it in order',
    async run({ fence, write, read }) {
      const name = freshName('order');
      await fence.transaction(tokenOf(name, 5), async (batch) => {
        await write(batch, name, 'first');
        await write(batch, `${name}/other`, 'other');
        await write(batch, name, 'second');
        assert.equal(await read(name), undefined);
      });
      assert.deepEqual([await read(name), await read(`${name}/other`)], ['second', 'other']);
    },
  },
  {
    id: 'batch-runs-anew',
    title: 'runs work anew whose effect another one recorded meanwhile, without what it had queued',
    async run({ fence, other, write, read }) {
      const name = freshName('anew');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      const gate = new Gate();
      const runs: boolean[] = [];
      const slow = fence.transaction(token, async (batch) => {
        const isNew = await fence.recordOnce(batch, name, 'key', 1, 'm1');
        await write(batch, `${name}/${runs.push(isNew)}`, 'queued');
        await gate.pass();
      });
      await Promise.race([gate.reached, slow]);
      await other.transaction(token, (batch) => other.recordOnce(batch, name, 'key', 1, 'm1'));
      gate.open();
      await slow;
      assert.deepEqual(runs, [true, false], 'the work did not see the record of the other one');
      assert.equal(await read(`${name}/1`), undefined, 'the batch of the first run was executed');
      assert.equal(await read(`${name}/2`), 'queued');
    },
  },
  {
    id: 'batch-ends-with-its-work',
    title: 'takes nothing more into a batch whose work has returned',
    async run({ fence, write, read }) {
      const name = freshName('late');
      const batch = await fence.transaction(tokenOf(name, 5), async (open) => open);
      const attempts: (() => Promise<unknown>)[] = [
        async () => await write(batch, name, 'late'),
        async () => await fence.recordOnce(batch, name, 'key', 1, 'm1'),
      ];
      for (const attempt of attempts) {
        const outcome = await outcomeOf(attempt());
        assert.ok('error' in outcome && outcome.error instanceof ClosedError, 'it was taken');
      }
      assert.equal(await read(name), undefined);
    },
  },
  {
    id: 'batch-failure-cannot-be-swallowed',
    title: 'executes nothing of a batch in which a record failed, even if the error is swallowed',
    async run({ fence, write, read }) {
      const name = freshName('spoiled');
      const fill = (close: () => Promise<void>, seq: number) =>
        fence.transaction(tokenOf(name, 5), async (batch) => {
          await write(batch, name, 'unguarded');
          await close();
          const recorded = await outcomeOf(fence.recordOnce(batch, name, 'key', seq, 'm1'));
          assert.ok('error' in recorded, 'it was recorded');
        });
      const bad = await outcomeOf(fill(async () => {}, -1));
      assert.ok('error' in bad && bad.error instanceof OptionError, 'a spoiled batch passed');
      const closed = await outcomeOf(fill(() => fence.close(), 1));
      assert.ok('error' in closed && closed.error instanceof ClosedError, 'it passed');
      assert.equal(await read(name), undefined);
    },
  },
  {
    id: 'batch-of-another-fence-refused',
    title: 'records nothing in a batch that another fence opened',
    async run({ fence, other }) {
      const name = freshName('foreign');
      const attempt = fence.transaction(tokenOf(name, 5), (batch) =>
        other.recordOnce(batch, name, 'key', 1, 'm1'),
      );
      const outcome = await outcomeOf(attempt);
      assert.ok('error' in outcome && outcome.error instanceof OptionError, 'it was recorded');
    },
  },
];
