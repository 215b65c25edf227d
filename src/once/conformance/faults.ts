import assert from 'node:assert/strict';
import { OutcomeUnknownError, TenureError, UnreachableError } from '../../errors/index.js';
import { beginning, begun, call, ended, ending, failed, key, read, settling } from './scene.js';
import type { OnceCase } from './subject.js';

/** How long a call is waited for that gets no answer. */
const hopeless = { timeoutMs: 300 };

async function rejected(asked: Promise<unknown>): Promise<TenureError> {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TenureError, `it rejects with an error of tenure, not ${error}`);
  return error;
}

export const faultCases: readonly OnceCase[] = [
  {
    id: 'faults/lost-reply',
    title: 'a request whose reply was lost is unknown, and is recognised when it is repeated',
    needs: ['loseReplies', 'heal'],
    run: async ({ store, other, controls, until }) => {
      await store.read(key, call);
      const request = beginning();
      const lose = async (asked: () => Promise<unknown>) => {
        await controls.loseReplies?.();
        const error = await until(rejected(asked()));
        assert.ok(error instanceof OutcomeUnknownError, `${error}`);
        await controls.heal?.();
      };
      await lose(() => store.begin(request, hopeless));
      assert.equal((await other.begin(beginning(), call)).outcome, 'under-way');
      const again = await until(store.begin(request, call));
      assert.deepEqual([again.outcome, again.record.attempt], ['begun', 1]);
      await lose(() => store.end(ending(request.nonce, failed), hopeless));
      const { outcome } = await until(store.end(ending(request.nonce, failed), call));
      assert.equal(outcome, 'recorded');
      const settlement = settling();
      await lose(() => store.settle(settlement, hopeless));
      const settled = await until(store.settle(settlement, call));
      assert.equal(settled.outcome, 'settled');
      assert.equal((await read(other)).settlements.length, 1);
    },
  },
  {
    id: 'faults/late-request',
    title: 'a request that arrives after it was given up begins, ends and settles nothing',
    needs: ['holdRequests', 'flushRequests', 'heal'],
    run: async ({ store, other, controls, until }) => {
      await ended(other, failed, { key: 'failed' });
      const { nonce } = await begun(store, { key: 'under way' });
      const before = await read(other, 'failed');
      const late = [
        () => store.begin(beginning(), hopeless),
        () => store.end(ending(nonce, failed, 'under way'), hopeless),
        () => store.settle(settling({ key: 'failed' }), hopeless),
      ];
      for (const ask of late) {
        await controls.holdRequests?.();
        await until(rejected(ask()));
        await controls.flushRequests?.();
        await controls.heal?.();
      }
      assert.equal(await until(other.read(key, call)), undefined);
      assert.equal((await read(other, 'under way')).state, 'started');
      assert.deepEqual(await read(other, 'failed'), before);
    },
  },
  {
    id: 'faults/cut',
    title: 'a request that could not be sent was not executed',
    needs: ['cut', 'heal'],
    run: async ({ store, other, controls, until }) => {
      await store.read(key, call);
      await controls.cut?.();
      // Whether this one was sent before the loss was noticed, nobody can tell.
      await until(rejected(store.read(key, hopeless)));
      const error = await until(rejected(store.begin(beginning(), hopeless)));
      assert.ok(error instanceof UnreachableError, `${error}`);
      assert.equal(await other.read(key, call), undefined);
      await controls.heal?.();
      await until(begun(store));
    },
  },
  {
    id: 'faults/closed',
    title: 'who is closed sends nothing',
    needs: [],
    run: async ({ store, other }) => {
      await store.close();
      for (const asked of [
        () => store.begin(beginning(), call),
        () => store.end(ending('0'.repeat(32)), call),
        () => store.settle(settling(), call),
        () => store.read(key, call),
        () => store.unknown({ limit: 1 }, call),
        () => store.forget(1, call),
      ])
        assert.equal((await rejected(asked())).code, 'TENURE_CLOSED');
      await store.close();
      assert.equal(await other.read(key, call), undefined);
    },
  },
];
