import assert from 'node:assert/strict';
import { ClosedError, OutcomeUnknownError } from '../../../errors/index.js';
import { defineStreamCase } from '../case.js';
import { names } from '../scene.js';

/** The timeout of calls that will have to be waited for, as a share of the usual one. */
const shortTimeoutShare = 0.2;

export const faultCases = [
  defineStreamCase(
    'faults/hang',
    'settles every call by its deadline when the store does not answer',
    async (scene) => {
      const store = await scene.connect();
      const token = await scene.own(store, 1);
      await scene.control('hang')(store);
      const timeoutMs = scene.subject.timeoutMs * shortTimeoutShare;
      const calls = {
        publish: store.publish([scene.message('a')], { timeoutMs }),
        install: store.install([{ shard: 0, token }], { timeoutMs }),
        step: store.step([{ shard: 0, token, acknowledge: [], after: undefined, limit: 1 }], {
          timeoutMs,
        }),
        backlog: store.backlog([0], { timeoutMs }),
        seal: store.seal(0, 'b', 1, { timeoutMs }),
        open: store.open(0, 'b', 1, 1, { timeoutMs }),
        describeTopic: store.describeTopic(4, { timeoutMs }),
      };
      await Promise.all(
        Object.entries(calls).map(([what, call]) => scene.unanswered(call, timeoutMs, what)),
      );
      await scene.control('heal')(store);
      await scene.answers(store);
    },
    ['hang', 'heal'],
  ),

  defineStreamCase(
    'faults/lost-reply',
    'recognises a message that is published again because its answer was lost',
    async (scene) => {
      const store = await scene.connect();
      await scene.answers(store);
      const message = scene.message('a');
      await scene.control('loseReplies')(store);
      const timeoutMs = scene.subject.timeoutMs * shortTimeoutShare;
      await scene.unanswered(store.publish([message], { timeoutMs }), timeoutMs, 'publish');
      await scene.control('heal')(store);
      await scene.answers(store);
      assert.deepEqual(await scene.publish(store, message), [{ outcome: 'duplicate', seq: 1 }]);
      assert.deepEqual(await scene.append(store, scene.message('a')), [2]);
    },
    ['loseReplies', 'heal'],
  ),

  defineStreamCase(
    'faults/late-publish',
    'appends nothing when a publish reaches the store after its deadline',
    async (scene) => {
      const store = await scene.connect();
      await scene.answers(store);
      const message = scene.message('a');
      await scene.control('holdRequests')(store);
      const timeoutMs = scene.subject.timeoutMs * shortTimeoutShare;
      await scene.unanswered(store.publish([message], { timeoutMs }), timeoutMs, 'publish');
      await scene.subject.advance(50);
      await scene.control('flushRequests')(store);
      const other = await scene.connect();
      assert.deepEqual(await scene.append(other, message, scene.message('a')), [1, 2]);
    },
    ['holdRequests', 'flushRequests'],
  ),

  defineStreamCase(
    'faults/late-step',
    'neither installs nor acknowledges when the request reaches the store after its deadline',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      const token = await scene.own(store, 1);
      const [message = assert.fail()] = await scene.read(store, token);
      await scene.control('holdRequests')(store);
      const timeoutMs = scene.subject.timeoutMs * shortTimeoutShare;
      const acknowledge = [message.position];
      const step = store.step([{ shard: 0, token, acknowledge, after: undefined, limit: 0 }], {
        timeoutMs,
      });
      const install = store.install([{ shard: 0, token: scene.token(2) }], { timeoutMs });
      await Promise.all([
        scene.unanswered(step, timeoutMs, 'step'),
        scene.unanswered(install, timeoutMs, 'install'),
      ]);
      await scene.subject.advance(50);
      await scene.control('flushRequests')(store);
      const other = await scene.connect();
      assert.deepEqual(names(await scene.read(other, token)), ['a:1']);
    },
    ['holdRequests', 'flushRequests'],
  ),

  defineStreamCase(
    'faults/duplicated-requests',
    'does everything once, though each request is executed twice',
    async (scene) => {
      const store = await scene.connect();
      await scene.answers(store);
      await scene.control('duplicateRequests')(store);
      const batch = [scene.message('a'), scene.message('a'), scene.message('b', { seq: 1 })];
      await scene.publish(store, ...batch);
      const token = await scene.own(store, 1);
      const read = await scene.read(store, token, { limit: 2 });
      await scene.acknowledge(store, token, read);
      assert.deepEqual(names(await scene.read(store, token)), ['b:1']);
      assert.deepEqual(names(read), ['a:1', 'a:2']);
      await scene.control('heal')(store);
    },
    ['duplicateRequests', 'heal'],
  ),

  defineStreamCase(
    'faults/clock-stepped-back',
    'keeps the order of the log, and no negative age, when the clock is set back',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      await scene.control('stepClock')(-3_600_000);
      await scene.append(store, scene.message('b'), scene.message('a'));
      const token = await scene.own(store, 1);
      const [first = assert.fail(), ...rest] = await scene.read(store, token);
      assert.deepEqual(names([first, ...rest]), ['a:1', 'b:1', 'a:2']);
      const after = first.position;
      assert.deepEqual(names(await scene.read(store, token, { after })), ['b:1', 'a:2']);
      const [backlog] = await store.backlog([0], scene.call);
      assert.ok(Number(backlog?.oldestAgeMs) >= 0, `an age of ${backlog?.oldestAgeMs} ms`);
    },
    ['stepClock'],
  ),

  defineStreamCase(
    'faults/restart-with-data',
    'keeps messages, numbers, ids, seals, the shard count and the installed term over a restart with its data',
    async (scene) => {
      const store = await scene.connect();
      const message = scene.message('a');
      await scene.append(store, message, scene.message('b'));
      const token = await scene.own(store, 5);
      await scene.seal(store, 'b', 3);
      await store.describeTopic(4, scene.call);
      await scene.control('restartKeepingData')();
      await scene.answers(store);

      assert.deepEqual(names(await scene.read(store, token)), ['a:1', 'b:1']);
      assert.deepEqual(await scene.publish(store, message, scene.message('b')), [
        { outcome: 'duplicate', seq: 1 },
        { outcome: 'moved' },
      ]);
      assert.deepEqual(await scene.append(store, scene.message('a')), [2]);
      const lower = { shard: 0, token: scene.token(4) };
      const [installed] = await store.install([lower], scene.call);
      assert.deepEqual(installed, { outcome: 'stale', installedTerm: 5 });
      assert.deepEqual(await store.open(0, 'b', 1, 2, scene.call), { outcome: 'superseded' });
      const topic = await store.describeTopic(8, scene.call);
      assert.deepEqual(topic, { outcome: 'differs', shardCount: 4 });
    },
    ['restartKeepingData'],
  ),

  defineStreamCase(
    'faults/restart-without-data',
    'says that it obeys nobody once its data is lost, and takes the term again',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      const token = await scene.own(store, 5);
      await scene.control('restartLosingData')();
      await scene.answers(store);
      assert.deepEqual(await scene.step(store, token), {
        outcome: 'stale',
        installedTerm: undefined,
      });
      const [installed] = await store.install([{ shard: 0, token }], scene.call);
      assert.deepEqual(installed, { outcome: 'installed' });
      assert.deepEqual(await scene.read(store, token), []);
    },
    ['restartLosingData'],
  ),

  defineStreamCase(
    'faults/watchers-after-a-restart',
    'wakes watchers for everything once they are connected again',
    async (scene) => {
      const store = await scene.connect();
      const rings: (number | undefined)[] = [];
      store.watch((ring) => rings.push(ring));
      await scene.answers(store);
      await scene.subject.advance(scene.subject.timeoutMs * shortTimeoutShare);
      rings.length = 0;
      await scene.control('restartKeepingData')();
      await scene.eventually('a wake without a shard', () => rings.includes(undefined));
    },
    ['restartKeepingData'],
  ),

  defineStreamCase(
    'faults/close',
    'refuses calls after close, and leaves none that was under way without an outcome',
    async (scene) => {
      const store = await scene.connect();
      await scene.answers(store);
      const pending = store.backlog([0], scene.call).then(
        () => 'answered',
        (error: unknown) => error,
      );
      await scene.subject.until(store.close());
      const outcome = await scene.subject.until(pending);
      assert.ok(
        outcome === 'answered' ||
          outcome instanceof OutcomeUnknownError ||
          outcome instanceof ClosedError,
        String(outcome),
      );
      await scene.subject.until(store.close());
      await assert.rejects(store.backlog([0], scene.call), ClosedError);
      await assert.rejects(scene.publish(store, scene.message('a')), ClosedError);
      await assert.rejects(scene.step(store, scene.token(1)), ClosedError);
      assert.throws(() => store.watch(() => {}), ClosedError);
    },
  ),
];
