import assert from 'node:assert/strict';
import { largestDocumentBytes } from '../../contract.js';
import { defineCase } from '../case.js';

/** Small versioned texts beside the leases. */
export const documentCases = [
  defineCase(
    'documents/versions',
    'a document begins with version 1, and each write makes it one more',
    async (scene) => {
      const name = scene.newName();
      const { client } = await scene.actor('ann');
      const { client: reader } = await scene.actor('bob');
      assert.equal(await reader.readDocument(name, scene.call), undefined);
      for (let version = 1; version <= 3; version++) {
        const text = `{"pins":${version},"ä":"😀"}`;
        const result = await client.writeDocument(name, text, version - 1, scene.call);
        assert.deepEqual(result, { outcome: 'written', version });
        assert.deepEqual(await reader.readDocument(name, scene.call), { version, text });
      }
    },
  ),

  defineCase(
    'documents/conflict',
    'a write against another version changes nothing and shows what is there',
    async (scene) => {
      const name = scene.newName();
      const { client } = await scene.actor('ann');
      assert.deepEqual(await client.writeDocument(name, 'x', 1, scene.call), {
        outcome: 'conflict',
        current: undefined,
      });
      await client.writeDocument(name, 'first', 0, scene.call);
      const current = { version: 1, text: 'first' };
      for (const expected of [0, 2]) {
        const result = await client.writeDocument(name, 'second', expected, scene.call);
        assert.deepEqual(result, { outcome: 'conflict', current });
      }
      assert.deepEqual(await client.readDocument(name, scene.call), current);
    },
  ),

  defineCase('documents/race', 'of many writes against one version, one wins', async (scene) => {
    const name = scene.newName();
    const actors = await Promise.all(['ann', 'bob', 'cid', 'dee'].map((id) => scene.actor(id)));
    const results = await Promise.all(
      actors.map(({ client, holder }) => client.writeDocument(name, holder.id, 0, scene.call)),
    );
    const winners = actors.filter((_, index) => results[index]?.outcome === 'written');
    assert.equal(winners.length, 1, `${winners.length} writes of version 1 were accepted`);
    const stored = await actors[0]?.client.readDocument(name, scene.call);
    assert.deepEqual(stored, { version: 1, text: winners[0]?.holder.id });
  }),

  defineCase(
    'documents/beside-leases',
    'a document and a lease of the same name have nothing to do with each other',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await ann.client.writeDocument(name, 'pins', 0, scene.call);
      await ann.seesFree(name);
      const term = await ann.take(name);
      await ann.seesHeld(name, ann, term);
      await ann.release(name, term);
      const stored = await ann.client.readDocument(name, scene.call);
      assert.deepEqual(stored, { version: 1, text: 'pins' });
    },
  ),

  defineCase(
    'documents/sizes',
    'an empty document and one of the largest size come back whole',
    async (scene) => {
      const { client } = await scene.actor('ann');
      for (const text of ['', 'x'.repeat(largestDocumentBytes)]) {
        const name = scene.newName();
        await client.writeDocument(name, text, 0, scene.call);
        const stored = await client.readDocument(name, scene.call);
        assert.ok(
          stored?.text === text,
          `a document of ${text.length} characters comes back whole`,
        );
      }
    },
  ),
];
