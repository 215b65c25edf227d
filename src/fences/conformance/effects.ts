import assert from 'node:assert/strict';
import { ClosedError, OptionError, SequenceReusedError } from '../../errors/index.js';
import { assertStale, freshName, outcomeOf, succeeded, tokenOf } from './scenario.js';
import type { BatchFenceCase, FenceCase } from './subject.js';

/** What a refused or failed check leaves behind in a transaction of the user's own: nothing. */
export const checkedEffectCases: readonly FenceCase[] = [
  {
    id: 'refusal-leaves-nothing',
    title: 'drops what was written before a refused check, and changes nothing itself',
    async run({ fence, other, transaction, write, read }) {
      const name = freshName('refusal');
      const owner = tokenOf(name, 5);
      await fence.claim(owner);
      const stale = transaction(async (open) => {
        await write(open, name, 'too early');
        await other.recordOnce(open, name, 'key', 1, 'm1');
        await other.check(open, tokenOf(name, 4));
      });
      await assertStale(stale, 4, 5);
      assert.equal(await read(name), undefined);
      assert.equal(await fence.installedTerm(name), 5);
      const recorded = await fence.transaction(owner, (open) =>
        fence.recordOnce(open, name, 'key', 1, 'm1'),
      );
      assert.equal(recorded, true, 'a refused transaction left its record');
    },
  },
  {
    id: 'refusal-cannot-be-swallowed',
    title: 'lets nothing commit after a refused check, even if the caller ignores the refusal',
    async run({ fence, other, transaction, write, read }) {
      const name = freshName('swallowed');
      await fence.claim(tokenOf(name, 5));
      const attempt = transaction(async (open) => {
        await write(open, name, 'stale');
        await assertStale(other.check(open, tokenOf(name, 4)), 4, 5);
      });
      // Resources differ in whether such a commit is an error, or is answered as a rollback.
      await outcomeOf(attempt);
      assert.equal(await read(name), undefined);
      const ownRefusal = transaction(async (open) => {
        await fence.check(open, tokenOf(name, 7));
        await write(open, name, 'refused by its own term');
        await assertStale(fence.check(open, tokenOf(name, 6)), 6, 7);
      });
      await outcomeOf(ownRefusal);
      assert.equal(await read(name), undefined);
      assert.equal(await other.installedTerm(name), 5);
    },
  },
  {
    id: 'failure-cannot-be-swallowed',
    title: 'lets nothing commit after a check or a record that failed, whatever the reason',
    async run({ fence, transaction, write, read }) {
      const name = freshName('unchecked');
      const token = tokenOf(name, 5);
      const after = async (
        failure: typeof OptionError | typeof ClosedError,
        step: (open: Parameters<typeof write>[0]) => Promise<unknown>,
      ) => {
        const attempt = transaction(async (open) => {
          await write(open, name, 'unguarded');
          const outcome = await outcomeOf(step(open));
          assert.ok('error' in outcome, 'bad input was accepted');
          assert.ok(outcome.error instanceof failure, `${outcome.error}`);
          // Resources differ in whether they take this.
          await outcomeOf(write(open, `${name}/after`, 'unguarded'));
        });
        await outcomeOf(attempt);
        const seen = [await read(name), await read(`${name}/after`)];
        assert.deepEqual(seen, [undefined, undefined], 'what was not guarded was committed');
      };
      await after(OptionError, (open) => fence.check(open, { ...token, term: 0 }));
      await after(OptionError, (open) => fence.recordOnce(open, name, 'key', -1, 'm1'));
      await fence.close();
      await after(ClosedError, (open) => fence.check(open, token));
      await after(ClosedError, (open) => fence.recordOnce(open, name, 'key', 1, 'm1'));
    },
  },
];

/** What a failure leaves behind (nothing), and effects that are recorded once. */
export const effectCases: readonly BatchFenceCase[] = [
  {
    id: 'failed-work-leaves-nothing',
    title: "passes on the work's own error and leaves neither its writes nor its term",
    async run({ fence, other, write, read }) {
      const name = freshName('failure');
      const failure = new Error('the work failed');
      const attempt = fence.transaction(tokenOf(name, 5), async (open) => {
        await write(open, name, 'half');
        throw failure;
      });
      const outcome = await outcomeOf(attempt);
      assert.ok('error' in outcome && outcome.error === failure, 'not the error of the work');
      assert.equal(await read(name), undefined);
      assert.equal(await other.installedTerm(name), undefined);
      await other.claim(tokenOf(name, 4));
    },
  },
  {
    id: 'transaction-returns-the-result',
    title: 'returns what the work returned, after the commit',
    async run({ fence, write, read }) {
      const name = freshName('result');
      const result = await fence.transaction(tokenOf(name, 5), async (open) => {
        await write(open, name, 'committed');
        return 42;
      });
      assert.equal(result, 42);
      assert.equal(await read(name), 'committed');
    },
  },
  {
    id: 'record-once',
    title: 'says once per scope, key and number that an effect is new',
    async run({ fence, other }) {
      const scope = freshName('record');
      const token = tokenOf(scope, 5);
      const record = async (handle: typeof fence, ...effect: [string, string, number, string]) =>
        await handle.transaction(token, (open) => handle.recordOnce(open, ...effect));
      assert.equal(await record(fence, scope, 'key', 1, 'm1'), true);
      assert.equal(await record(other, scope, 'key', 1, 'm1'), false);
      assert.equal(await record(fence, scope, 'key', 1, 'm1'), false);
      assert.equal(await record(other, scope, 'key', 2, 'm2'), true);
      assert.equal(await record(fence, scope, 'KEY', 1, 'n1'), true);
      assert.equal(await record(fence, `${scope}/b`, 'key', 1, 'm1'), true);
      assert.equal(await record(fence, scope, 'key', Number.MAX_SAFE_INTEGER, 'max'), true);
      const twice = await fence.transaction(token, async (open) => [
        await fence.recordOnce(open, scope, 'twice', 1, 't1'),
        await fence.recordOnce(open, scope, 'twice', 1, 't1'),
      ]);
      assert.deepEqual(twice, [true, false]);
    },
  },
  {
    id: 'record-of-another-message-refused',
    title:
      'refuses the number of a recorded effect from any other message, instead of calling it done',
    async run({ fence, other, write, read }) {
      const scope = freshName('reused');
      const token = tokenOf(scope, 5);
      const record = async (handle: typeof fence, id: string) =>
        await handle.transaction(token, async (open) => {
          const isNew = await handle.recordOnce(open, scope, 'key', 1, id);
          await write(open, scope, id);
          return isNew;
        });
      assert.equal(await record(fence, 'first'), true);
      for (const id of ['second', 'FIRST', 'first ', 'f', "fi'rst", 'e\u0301']) {
        const outcome = await outcomeOf(record(other, id));
        assert.ok('error' in outcome, `message ${id} passed for a redelivery of another one`);
        assert.ok(outcome.error instanceof SequenceReusedError, `${outcome.error}`);
        const { scope: its, key, seq, id: came, recordedId } = outcome.error;
        assert.deepEqual([its, key, seq, came, recordedId], [scope, 'key', 1, id, 'first']);
      }
      assert.equal(await read(scope), 'first', 'a refused message had its effect');
      assert.equal(await record(other, 'first'), false, 'the record was changed by a refusal');
      const within = await outcomeOf(
        fence.transaction(token, async (open) => {
          await fence.recordOnce(open, scope, 'within', 1, 'first');
          await fence.recordOnce(open, scope, 'within', 1, 'second');
        }),
      );
      assert.ok('error' in within && within.error instanceof SequenceReusedError);
    },
  },
  {
    id: 'reused-number-may-be-caught',
    title: 'commits what else was written by work that catches the refusal of a number',
    async run({ fence, write, read }) {
      const scope = freshName('caught');
      const token = tokenOf(scope, 5);
      await fence.transaction(token, (open) => fence.recordOnce(open, scope, 'key', 1, 'first'));
      await fence.transaction(token, async (open) => {
        const outcome = await outcomeOf(fence.recordOnce(open, scope, 'key', 1, 'second'));
        assert.ok('error' in outcome && outcome.error instanceof SequenceReusedError);
        await write(open, scope, 'put aside');
      });
      assert.equal(await read(scope), 'put aside');
    },
  },
  {
    id: 'record-raced-by-another-message',
    title:
      'takes one of two messages that record one number at once, and calls neither done before',
    async run({ fence, other }) {
      const scope = freshName('contested');
      const token = tokenOf(scope, 5);
      await fence.claim(token);
      for (let seq = 1; seq <= 10; seq++) {
        const attempts = [fence, other].map((handle, index) =>
          outcomeOf(
            handle.transaction(token, (open) =>
              handle.recordOnce(open, scope, 'key', seq, `m${seq} of ${index}`),
            ),
          ),
        );
        const values = (await Promise.all(attempts)).flatMap((outcome) =>
          'value' in outcome ? [outcome.value] : [],
        );
        assert.deepEqual(values, [true], 'a message was swallowed, or both had their effect');
      }
    },
  },
  {
    id: 'record-rolls-back',
    title: 'forgets a record whose transaction was rolled back',
    async run({ fence, other }) {
      const scope = freshName('rollback');
      const token = tokenOf(scope, 5);
      const attempt = fence.transaction(token, async (open) => {
        assert.equal(await fence.recordOnce(open, scope, 'key', 1, 'm1'), true);
        throw new Error('rolled back');
      });
      await outcomeOf(attempt);
      const again = await other.transaction(token, (open) =>
        other.recordOnce(open, scope, 'key', 1, 'm1'),
      );
      assert.equal(again, true);
    },
  },
  {
    id: 'record-raced',
    title: 'lets one of several simultaneous records of an effect commit as new',
    async run({ fence, other }) {
      const scope = freshName('raced');
      const token = tokenOf(scope, 5);
      await fence.claim(token);
      const attempts = [fence, other, fence].map((handle) =>
        outcomeOf(
          handle.transaction(token, (open) => handle.recordOnce(open, scope, 'key', 1, 'm1')),
        ),
      );
      const outcomes = await Promise.all(attempts);
      const applied = outcomes.filter(
        (outcome) => succeeded(outcome) && 'value' in outcome && outcome.value,
      );
      assert.equal(applied.length, 1, 'the effect was applied twice, or never');
    },
  },
];
