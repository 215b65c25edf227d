import { afterAll, beforeAll, describe, it } from 'vitest';
import { type RunningStore, serverStores } from '../support/electorate/stores.js';
import { NamesScene, tellStory } from './names-scene.js';

describe.concurrent.each(serverStores)(
  'the commands about names on $store',
  { timeout: 90_000 },
  ({ ttlMs, start }) => {
    let store: RunningStore;
    beforeAll(async () => {
      store = await start();
    }, 60_000);
    afterAll(() => store?.stop());

    it('tell who leads, who waits, and what becomes of a handoff, a suspension and a crash', async () => {
      const scene = new NamesScene(store.url, 'inside');
      try {
        await tellStory(scene, ttlMs);
      } finally {
        await scene.end();
      }
    });
  },
);
