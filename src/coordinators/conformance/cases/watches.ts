import assert from 'node:assert/strict';
import { groupOf } from '../../names.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

/** Watches only wake: these cases ask for the hint, never for its number or time. */
export const watchCases = [
  defineCase('watches/release', 'a release wakes who watches the group', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const wakes = watch(await scene.actor('bob'), groupOf(name));
    // A watch may take a moment to be in place, so names are released until one is noticed.
    await scene.eventually('a wake after a release', async () => {
      await ann.release(name, await ann.take(name));
      await scene.subject.advance(scene.ttlMs / 20);
      return wakes.names.includes(name) || wakes.names.includes(undefined);
    });
    wakes.stop();
  }),

  defineCase('watches/handoff', 'a handoff wakes who watches the group', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const wakes = watch(bob, groupOf(name));
    await scene.eventually('a wake after a handoff', async () => {
      await ann.handOff(name, await ann.take(name), 'bob');
      await scene.subject.advance(scene.ttlMs / 20);
      await bob.release(name, await bob.take(name));
      return wakes.names.length > 0;
    });
    wakes.stop();
  }),

  defineCase('watches/own-group', 'a wake that has a name has one of the group', async (scene) => {
    const [watched, other] = [scene.newName(), scene.newName()];
    const ann = await scene.actor('ann');
    const wakes = watch(await scene.actor('bob'), groupOf(watched));
    await scene.eventually('a wake after a release', async () => {
      await ann.release(other, await ann.take(other));
      await ann.release(watched, await ann.take(watched));
      await scene.subject.advance(scene.ttlMs / 20);
      return wakes.names.length > 0;
    });
    assert.ok(!wakes.names.includes(other), "a watch was woken with another group's name");
    wakes.stop();
  }),

  defineCase(
    'watches/resume',
    'the resumption of a suspended name wakes who watches the group',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      const wakes = watch(await scene.actor('bob'), groupOf(name));
      await scene.eventually('a wake after a resumption', async () => {
        await operator.suspend(name);
        await operator.resume(name);
        await scene.subject.advance(scene.ttlMs / 20);
        return wakes.names.length > 0;
      });
      wakes.stop();
    },
  ),

  defineCase(
    'watches/grant',
    'the grant of a name with a history wakes who watches the group',
    async (scene) => {
      const ann = await scene.actor('ann');
      await expectWake(scene, 'a grant', (name, ttlMs) =>
        ann.take(ann.request(name, { keepHistory: true, ttlMs })),
      );
    },
  ),

  defineCase(
    'watches/suspend',
    'the suspension of a name wakes who watches the group, be the name held or free',
    async (scene) => {
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await expectWake(scene, 'a suspension', (name) => operator.suspend(name));
      await expectWake(scene, 'the suspension of a lease', async (name, ttlMs) => {
        await ann.take(ann.request(name, { ttlMs }));
        await operator.suspend(name);
      });
    },
  ),

  defineCase(
    'watches/revoke',
    'the revocation of a lease wakes who watches the group, before its holder has let go',
    async (scene) => {
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await expectWake(scene, 'a revocation', async (name, ttlMs) => {
        await ann.take(ann.request(name, { ttlMs }));
        await operator.revoke(name);
      });
    },
  ),

  defineCase(
    'watches/stop',
    'after it was taken back a watch wakes nobody, and taking it back twice is harmless',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const stopped = watch(bob, groupOf(name));
      const going = watch(bob, groupOf(name));
      stopped.stop();
      stopped.stop();
      const countThen = stopped.names.length;
      // A watch that only asks from time to time sees the name as it stands then, so it is held for a while, and free for a while.
      await scene.eventually('a wake of the watch that goes on', async () => {
        const term = await ann.take(name);
        await scene.subject.advance(scene.ttlMs / 20);
        await ann.release(name, term);
        await scene.subject.advance(scene.ttlMs / 20);
        return going.names.includes(name);
      });
      assert.equal(stopped.names.length, countThen, 'a watch that was taken back was woken');
      going.stop();
    },
  ),

  defineCase(
    'watches/connection-lost',
    'a client is told when its connection was lost, unless it has taken that back',
    async (scene) => {
      const { client } = await scene.actor('ann');
      let lostCount = 0;
      let unwantedCount = 0;
      client.onConnectionLost(() => {
        lostCount += 1;
      });
      const takeBack = client.onConnectionLost(() => {
        unwantedCount += 1;
      });
      takeBack();
      takeBack();
      await scene.control('restartKeepingData')();
      await scene.eventually('word of the lost connection', () => lostCount > 0);
      assert.equal(unwantedCount, 0, 'who took it back is not told');
    },
    { needs: ['restartKeepingData'] },
  ),
];

/**
 * Does it to one name after the other, and expects that this wakes a watch that is in place and quiet. None of the names is
 * released, resumed or expires meanwhile, so nothing else can be what wakes.
 */
async function expectWake(
  scene: Scene,
  what: string,
  act: (name: string, longMs: number) => Promise<unknown>,
): Promise<void> {
  const name = scene.newName();
  const ann = await scene.actor('ann');
  const { names, stop } = watch(await scene.actor('bob'), groupOf(name));
  await scene.eventually('a wake after a release', async () => {
    await ann.release(name, await ann.take(name));
    await scene.subject.advance(scene.ttlMs / 20);
    return names.length > 0;
  });
  await scene.subject.advance(scene.ttlMs / 2);
  names.length = 0;
  let count = 0;
  const isWoken = async () => {
    await act(scene.sibling(name, `name-${count++}`), scene.ttlMs * 20);
    await scene.subject.advance(scene.ttlMs / 20);
    return names.length > 0;
  };
  await scene.eventually(`a wake after ${what}`, isWoken, scene.ttlMs * 4);
  stop();
}

function watch(actor: Actor, group: string): { names: (string | undefined)[]; stop: () => void } {
  const names: (string | undefined)[] = [];
  const stop = actor.client.watch(group, (name) => names.push(name));
  return { names, stop };
}
