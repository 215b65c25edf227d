import assert from 'node:assert/strict';
import { largestDocumentBytes, largestMetadataBytes } from '../../contract.js';
import { longestNameBytes } from '../../names.js';
import { highestTerm } from '../../term.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import { refuses } from '../refuses.js';

const badNames = [
  '',
  '/',
  '/a',
  'a/',
  'a//b',
  '.',
  'a/../b',
  'a\nb',
  'a\0b',
  '\ud800',
  'x'.repeat(longestNameBytes + 1),
  'ä'.repeat(longestNameBytes / 2 + 1),
];

/** What is refused before it is sent: by an error that names the option, and with nothing done. */
export const inputCases = [
  defineCase(
    'input/names',
    'a name that is no name is refused by every operation',
    async (scene) => {
      const ann = await scene.actor('ann');
      const { client } = ann;
      for (const name of badNames) {
        await refuses('name', () => ann.acquire(name));
        await refuses('name', () => ann.renew(name, 1));
        await refuses('name', () => ann.release(name, 1));
        await refuses('name', () => ann.handOff(name, 1, 'bob'));
        await refuses('name', () => ann.read(name));
        await refuses('name', () => client.readDocument(name, scene.call));
        await refuses('name', () => client.writeDocument(name, 'x', 0, scene.call));
        if (name !== '') await refuses('group', () => client.list(name, scene.call));
      }
    },
  ),

  defineCase('input/longest-name', 'a name of the longest size is accepted', async (scene) => {
    const ann = await scene.actor('ann');
    for (const letter of ['x', 'ä', '%']) {
      const base = `${scene.newName()}/`;
      const spareBytes = longestNameBytes - Buffer.byteLength(base);
      const name = base + letter.repeat(Math.floor(spareBytes / Buffer.byteLength(letter)));
      const term = await ann.take(name);
      await ann.seesHeld(name, ann, term);
    }
  }),

  defineCase(
    'input/duplicates',
    'a name that stands twice in a batch is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const twice = <T>(request: T) => [request, request];
      const lease = { name, holder: ann.holder, term: 1 };
      const { client } = ann;
      await refuses('name', () => client.acquire(twice(ann.request(name)), scene.call));
      await refuses('name', () =>
        client.renew(twice({ ...lease, ttlMs: scene.ttlMs }), scene.call),
      );
      await refuses('name', () => client.release(twice(lease), scene.call));
      await refuses('name', () =>
        client.handoff(twice({ ...lease, to: 'bob', reserveMs: scene.ttlMs }), scene.call),
      );
      await ann.seesFree(name);
    },
  ),

  defineCase(
    'input/ttl',
    'a ttl outside the declared range is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const { smallestTtlMs, largestTtlMs } = ann.client.promises;
      for (const ttlMs of [0, -1, smallestTtlMs - 1, largestTtlMs + 1, Number.NaN, Infinity]) {
        await refuses('ttlMs', () => ann.acquire(ann.request(name, { ttlMs })));
        await refuses('ttlMs', () => ann.renew(name, 1, { ttlMs }));
      }
      await ann.seesFree(name);
    },
    { demonstrates: ['smallestTtlMs', 'largestTtlMs'] },
  ),

  defineCase(
    'input/metadata',
    'metadata that is too large or no JSON is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const largest = JSON.stringify('ä'.repeat(largestMetadataBytes / 2 - 1));
      assert.equal(Buffer.byteLength(largest), largestMetadataBytes);
      for (const metadata of [`${largest} `, '', 'not json', '{"a":}', 'undefined']) {
        await refuses('metadata', () => ann.acquire(ann.request(name, { metadata })));
        await refuses('metadata', () => ann.renew(name, 1, { metadata }));
      }
      await ann.seesFree(name);
      await ann.take(ann.request(name, { metadata: largest }));
      assert.equal((await ann.readLease(name)).metadata, largest);
    },
  ),

  defineCase('input/terms', 'a term that is no term is refused', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    for (const term of [0, -1, 0.5, Number.NaN, highestTerm + 1, 2 ** 53]) {
      await refuses('term', () => ann.renew(name, term));
      await refuses('term', () => ann.release(name, term));
      await refuses('term', () => ann.handOff(name, term, 'bob'));
    }
  }),

  defineCase(
    'input/others',
    'an attempt, successor, reservation, document or timeout that is none is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const { client } = ann;
      for (const attempt of ['', 'x', 'G'.repeat(32), `${scene.attempt()}0`]) {
        await refuses('attempt', () => ann.acquire(ann.request(name, { attempt })));
        await refuses('attempt', () => ann.releaseAttempt(name, attempt));
      }
      for (const to of ['', '*', 'a b', 'a:b', 'x'.repeat(200)]) {
        await refuses('to', () => ann.handOff(name, 1, to));
      }
      for (const reserveMs of [0, -1, Number.NaN, client.promises.largestTtlMs + 1]) {
        await refuses('reserveMs', () => ann.handOff(name, 1, 'bob', reserveMs));
      }
      const tooLarge = 'x'.repeat(largestDocumentBytes + 1);
      await refuses('text', () => client.writeDocument(name, tooLarge, 0, scene.call));
      for (const version of [-1, 0.5, Number.NaN]) {
        await refuses('expectedVersion', () =>
          client.writeDocument(name, 'x', version, scene.call),
        );
      }
      for (const timeoutMs of [0, -1, Number.NaN, Infinity]) {
        await refuses('timeoutMs', () => client.read([name], { timeoutMs }));
      }
      assert.equal(await client.readDocument(name, scene.call), undefined);
    },
  ),

  defineCase(
    'input/whole-batch',
    'one bad request refuses its whole batch: nothing of it is executed',
    async (scene) => {
      const ann = await scene.actor('ann');
      const names = [scene.newName(), scene.newName()] as const;
      await refuses('ttlMs', () =>
        ann.client.acquire(
          [ann.request(names[0]), ann.request(names[1], { ttlMs: -1 })],
          scene.call,
        ),
      );
      for (const name of names) await ann.seesFree(name);
    },
  ),

  defineCase(
    'input/changed-later',
    'a request that its caller changes after the call is executed as it was',
    async (scene) => {
      const ann: Actor = await scene.actor('ann');
      const [name, other] = [scene.newName(), scene.newName()];
      const request = { ...ann.request(name) };
      const batch = [request];
      const pending = ann.client.acquire(batch, scene.call);
      request.name = other;
      batch.length = 0;
      const [result] = await pending;
      assert.ok(result?.outcome === 'granted');
      await ann.seesHeld(name, ann, result.term);
      await ann.seesFree(other);
    },
  ),
];
