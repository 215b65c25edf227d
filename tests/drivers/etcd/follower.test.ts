import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  EtcdClient,
  type EtcdEvent,
  type EtcdOperation,
  etcdLocation,
  Follower,
} from '../../../src/drivers/etcd/index.js';
import { type Runtime, realRuntime } from '../../../src/time/index.js';
import { type EtcdCluster, startEtcd } from '../../support/servers/index.js';

const gatheringMs = 7;

let cluster: EtcdCluster;
const ends: (() => void)[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => cluster.stop());

/** A follower whose next watch begins when it is told to, over keys of a real member. */
function stage() {
  let next: (() => void) | undefined;
  let isHeld = false;
  const setTimer: Runtime['setTimer'] = (delayMs, callback, options) => {
    if (delayMs !== gatheringMs || !isHeld) return realRuntime.setTimer(delayMs, callback, options);
    next = callback;
    return { cancel: () => {} };
  };
  const location = etcdLocation(cluster.url, undefined);
  const client = new EtcdClient({
    what: 'the follower',
    location,
    runtime: { ...realRuntime, setTimer },
  });
  const watch = vi.spyOn(client, 'stream');
  const prefix = `${realRuntime.randomHex(4)}/`;
  const keys = new Set<string>();
  const heard: string[] = [];
  const stageOf = {
    keys,
    heard,
    onHeard: (_event: EtcdEvent) => {},
    hold: () => {
      isHeld = true;
    },
    followNow: () => {
      isHeld = false;
      next?.();
    },
    write: async (...steps: string[]) => {
      const operations = steps.map((step): EtcdOperation => {
        const key = prefix + step.slice(1);
        return step.startsWith('+')
          ? { kind: 'put', key, value: 'value', lease: '0' }
          : { kind: 'delete', range: { key } };
      });
      return (await client.txn([], operations, 'a test', client.deadline(5_000))).revision;
    },
    hears: (...events: string[]) =>
      vi.waitFor(() => expect(heard).toEqual(expect.arrayContaining(events)), 10_000),
  };
  const follower = new Follower({
    client,
    ranges: () => [...keys].map((key) => ({ key: prefix + key })),
    onEvents: (events) => {
      for (const event of events) {
        const { kind, keyValue } = event;
        heard.push(`${kind === 'put' ? '+' : '-'}${keyValue.key.slice(prefix.length)}`);
        stageOf.onHeard(event);
      }
    },
    onAgain: () => heard.push('again'),
    gatheringMs: () => gatheringMs,
  });
  ends.push(() => {
    follower.close();
    client.close();
  });
  return { ...stageOf, stage: stageOf, follower, watch };
}

/** It is watched when what is put there is heard. */
async function watching({ keys, follower, write, hears }: ReturnType<typeof stage>, key: string) {
  const revision = await write(`+${key}`);
  keys.add(key);
  follower.hearFrom(revision - 1);
  await hears(`+${key}`);
}

describe('who follows keys of etcd', () => {
  it('hears of a new one what came after the look, though another one was heard of later', async () => {
    const scene = stage();
    const { keys, follower, write, hears, hold, followNow } = scene;
    await watching(scene, 'old');
    const looked = await write('+new');
    keys.add('new');
    hold();
    follower.hearFrom(looked);
    await write('-new');
    await write('-old');
    await hears('-old');
    followNow();
    await hears('-new');
  });

  it('hears of it also if another one is added before it was heard', async () => {
    const scene = stage();
    const { keys, follower, write, hears, hold, followNow, heard } = scene;
    await watching(scene, 'old');
    const looked = await write('+new');
    keys.add('new');
    hold();
    follower.hearFrom(looked);
    await write('-new');
    const last = await write('-old');
    await hears('-old');
    followNow();
    // Before any answer to the watch that has just begun.
    keys.add('third');
    hold();
    follower.hearFrom(last);
    followNow();
    await hears('-new');
    expect(heard).not.toContain('again');
  });

  it('begins no new watch for what is not to be heard any more, until there is something new', async () => {
    const scene = stage();
    const { keys, follower, write, hears, hold, followNow, watch } = scene;
    await watching(scene, 'stays');
    await watching(scene, 'goes');
    const countBefore = watch.mock.calls.length;
    keys.delete('goes');
    hold();
    follower.changed();
    followNow();
    await write('-stays');
    await hears('-stays');
    expect(watch.mock.calls.length).toBe(countBefore);
    await watching(scene, 'comes');
    expect(watch.mock.calls.length).toBe(countBefore + 1);
  });

  it('hears all of one step, though a new watch begins when it has heard a part of it', async () => {
    const scene = stage();
    const { keys, follower, write, hears, hold, followNow, heard } = scene;
    await watching(scene, 'one');
    await watching(scene, 'two');
    hold();
    keys.add('third');
    follower.changed();
    scene.stage.onHeard = () => {
      scene.stage.onHeard = () => {};
      followNow();
    };
    await write('-one', '-two');
    await hears('-one', '-two');
    await write('+third');
    await hears('+third');
    expect(heard.filter((event) => event.startsWith('-')).sort()).toEqual(['-one', '-two']);
  });
});
