import assert from 'node:assert/strict';
import { OptionError } from '../../../errors/index.js';
import type { PublishRequest } from '../../contract.js';
import { defineStreamCase } from '../case.js';

/** Texts that mean something to a store, a shell, a terminal or JavaScript, and must mean nothing here. */
const hostileTexts = [
  '{tag}',
  '}:s1}:log',
  '*',
  'a*?[b-c]',
  ':',
  '%3A',
  '../..',
  'two\nlines\r\n',
  '\u0001\u001b[31m',
  "'; --",
  '"quoted\\"',
  ' ',
  '-1',
  '0x10',
  '1|1-1',
  '__proto__',
  'constructor',
  'é',
  'e\u0301',
  '鍵',
  '🔑',
  '\u2028',
];

const notTexts = ['', 'a\0b', '\ud800', '\udc00x'];

export const inputCases = [
  defineStreamCase(
    'inputs/hostile-texts',
    'keeps every key, id and payload exactly, and apart from every other one',
    async (scene) => {
      const store = await scene.connect();
      const messages = hostileTexts.flatMap((text) => [
        scene.message(text, { id: 'same', payload: JSON.stringify({ [text]: text }) }),
        scene.message('same', { id: text, payload: ` [${JSON.stringify(text)}]\n` }),
      ]);
      const seqs = await scene.append(store, ...messages);
      assert.deepEqual(
        seqs,
        messages.map((_, index) => (index % 2 === 0 ? 1 : (index + 1) / 2)),
      );
      const read = await scene.read(store, await scene.own(store, 1));
      assert.deepEqual(
        read.map(({ key, id, payload }) => ({ key, id, payload })),
        messages.map(({ key, id, payload }) => ({ key, id, payload })),
      );
      const again = await scene.publish(store, ...messages);
      assert.ok(again.every(({ outcome }) => outcome === 'duplicate'));
      for (const text of hostileTexts) {
        assert.deepEqual(await scene.seal(store, text, 1), { lastSeq: 1, drained: false });
      }
    },
  ),

  defineStreamCase(
    'inputs/longest-texts',
    'takes a key of 512 bytes, an id of 255 and a payload of the largest size',
    async (scene) => {
      const store = await scene.connect();
      const payload = JSON.stringify('x'.repeat(scene.subject.largestPayloadBytes - 2));
      const message = scene.message('é'.repeat(256), { id: '"'.repeat(255), payload });
      assert.deepEqual(await scene.append(store, message), [1]);
      const [read] = await scene.read(store, await scene.own(store, 1));
      assert.deepEqual([read?.key, read?.id], [message.key, message.id]);
      assert.equal(read?.payload === payload, true, 'the payload comes back as it was');
    },
  ),

  defineStreamCase(
    'inputs/refused-whole',
    'refuses what is no key, id, payload, shard or seq, with the whole batch and before sending it',
    async (scene) => {
      const store = await scene.connect();
      const wrong: Partial<PublishRequest>[] = [
        ...notTexts.flatMap((text) => [{ key: text }, { id: text }]),
        { key: 'k'.repeat(513) },
        { id: 'i'.repeat(256) },
        ...['', '{', 'undefined', "'x'", '"a\0b"', '"\ud800"'].map((payload) => ({ payload })),
        { payload: JSON.stringify('x'.repeat(scene.subject.largestPayloadBytes)) },
        ...[-1, 1.5, Number.NaN, 2 ** 53].map((shard) => ({ shard })),
        ...[0, -1, 1.5, 2 ** 53].map((seq) => ({ seq })),
      ];
      for (const parts of wrong) {
        await assert.rejects(
          scene.publish(store, scene.message('good'), scene.message('a', parts)),
          OptionError,
          JSON.stringify(parts).slice(0, 60),
        );
      }
      assert.deepEqual(await scene.append(store, scene.message('good')), [1]);
    },
  ),

  defineStreamCase(
    'inputs/refused-steps',
    'refuses what is no position, limit or token, and one shard twice in a batch',
    async (scene) => {
      const store = await scene.connect();
      const token = await scene.own(store, 1);
      for (const position of ['', '+', '-', '(', '* ', '1-1-1', '1 OR 1', '-1']) {
        await assert.rejects(scene.step(store, token, { acknowledge: [position] }), OptionError);
        await assert.rejects(scene.step(store, token, { after: position }), OptionError);
      }
      for (const limit of [-1, 0.5, Number.NaN, 1_000_000]) {
        await assert.rejects(scene.step(store, token, { limit }), OptionError);
      }
      for (const term of [0, -1, 1.5, 2 ** 60]) {
        await assert.rejects(scene.step(store, { ...token, term }), OptionError);
        const install = { shard: 0, token: { ...token, term } };
        await assert.rejects(store.install([install], scene.call), OptionError);
      }
      const twice = [1, 1].map((shard) => ({ shard, token }));
      await assert.rejects(store.install(twice, scene.call), OptionError);
      await assert.rejects(store.open(0, 'a', -1, 1, scene.call), OptionError);
      await assert.rejects(store.open(0, 'a', 1, -1, scene.call), OptionError);
      await assert.rejects(store.seal(0, '', 1, scene.call), OptionError);
      await assert.rejects(store.seal(0, 'a', 0.5, scene.call), OptionError);
      await assert.rejects(store.describeTopic(0, scene.call), OptionError);
      await assert.rejects(store.backlog([0], { timeoutMs: 0 }), OptionError);
    },
  ),
];
