import assert from 'node:assert/strict';
import { OptionError } from '../../../errors/index.js';
import { highestTerm, isTerm } from '../../term.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

/** Which number a grant carries. */
export const termCases = [
  defineCase(
    'terms/rise-per-name',
    'each grant of a name has a higher term than the one before, for the same holder too',
    async (scene) => {
      const name = scene.newName();
      const actors = [await scene.actor('ann'), await scene.actor('bob')];
      let last = 0;
      for (let round = 0; round < 6; round++) {
        const actor = actors[round % 4 < 2 ? 0 : 1] as Actor;
        const term = await actor.take(name);
        assert.ok(isTerm(term), `${term} is not a term`);
        assert.ok(term > last, `term ${term} was granted after term ${last}`);
        await actor.release(name, term);
        last = term;
      }
    },
  ),

  defineCase(
    'terms/rise-per-namespace',
    'terms rise over different names of one namespace',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      let last = 0;
      for (let round = 0; round < 6; round++) {
        const term = await (round % 2 === 0 ? ann : bob).take(scene.newName());
        assert.ok(term > last, `term ${term} was granted after term ${last} of another name`);
        last = term;
      }
    },
  ),

  defineCase(
    'terms/contended',
    'while many contend, terms rise in the order in which the name was really held',
    async (scene) => {
      const name = scene.newName();
      const grants: number[] = [];
      const contend = async (actor: Actor) => {
        for (let round = 0; round < 12; round++) {
          const result = await actor.acquire(name);
          if (result.outcome !== 'granted') continue;
          // Before the release is sent nobody else can be granted it, so this list is in real-time order.
          grants.push(result.term);
          await actor.release(name, result.term);
        }
      };
      const ids = ['ann', 'bob', 'cid', 'dee'];
      await Promise.all(ids.map(async (id) => contend(await scene.actor(id))));
      assert.ok(grants.length > 0, 'somebody is granted the name');
      assertRising(grants);
    },
  ),

  defineCase(
    'terms/delayed-claim',
    'an acquire that was on its way while another was granted and released gets the higher term',
    async (scene) => {
      const name = scene.newName();
      const slow = await scene.actor('slow');
      const fast = await scene.actor('fast');
      await scene.disturb('holdRequests', slow.client);
      const pending = slow.acquire(name, { timeoutMs: scene.ttlMs });
      pending.catch(() => undefined);
      const earlier = await fast.take(name);
      await fast.release(name, earlier);
      await scene.control('flushRequests')(slow.client);
      const result = await scene.subject.until(pending);
      assert.ok(result.outcome === 'granted', 'the name is free when the slow request arrives');
      assert.ok(
        result.term > earlier,
        `term ${result.term} was granted after ${earlier}: it was taken before the claim`,
      );
    },
    { needs: ['holdRequests', 'flushRequests'] },
  ),

  defineCase(
    'terms/above',
    'a fresh acquire is granted a term above the one it names, and later ones stay above that',
    async (scene) => {
      const ann = await scene.actor('ann');
      const name = scene.newName();
      const above = (await takeAndRelease(scene, ann)) + 1_000_000;
      const healed = await ann.take(ann.request(name, { above }));
      assert.ok(healed > above, `term ${healed} is not above ${above}`);
      await ann.release(name, healed);
      const next = await ann.take(name);
      assert.ok(next > healed, `term ${next} fell behind the healed term ${healed}`);
    },
  ),

  defineCase(
    'terms/above-lower',
    'an `above` below the current terms changes nothing',
    async (scene) => {
      const ann = await scene.actor('ann');
      const last = await takeAndRelease(scene, ann);
      const term = await ann.take(ann.request(scene.newName(), { above: 1 }));
      assert.ok(term > last, `term ${term} was granted after term ${last}`);
    },
  ),

  defineCase(
    'terms/above-held',
    'the term of a lease that is held is never raised, for whoever asks and however high',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const request = ann.request(name);
      const term = await ann.take(request);
      const above = term + 1000;
      await bob.isKeptOut(bob.request(name, { above }));
      await ann.isKeptOut(ann.request(name, { above }));
      assert.equal(await ann.take({ ...request, above }), term, 'one attempt has one term');
      await ann.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'terms/above-absurd',
    'an `above` that is no term, or leaves no higher one, is refused before it is sent',
    async (scene) => {
      const ann = await scene.actor('ann');
      const name = scene.newName();
      const absurd = [0, -1, 1.5, Number.NaN, highestTerm, highestTerm + 1, 2 ** 53, 1e300];
      for (const above of absurd) {
        await assert.rejects(
          ann.acquire(ann.request(name, { above })),
          OptionError,
          `above ${above} is refused`,
        );
      }
      await ann.seesFree(name);
    },
  ),
];

async function takeAndRelease(scene: Scene, actor: Actor): Promise<number> {
  const name = scene.newName();
  const term = await actor.take(name);
  await actor.release(name, term);
  return term;
}

function assertRising(terms: readonly number[]): void {
  for (const [index, term] of terms.entries()) {
    const before = terms[index - 1] ?? 0;
    assert.ok(term > before, `term ${term} was granted after term ${before}`);
  }
}
