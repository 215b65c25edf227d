import { describe, expect, it } from 'vitest';
import type { Topic } from '../../../src/streams/topic.js';
import { sleep } from '../../../src/time/index.js';
import { Simulation } from './simulation.js';

const all = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Publishes to one key, one message after the other, each again with its id until it is known to be there. */
async function publishUntil(
  simulation: Simulation,
  topic: Topic,
  key: string,
  isOver: () => boolean,
): Promise<number> {
  const { runtime } = simulation.world;
  let count = 0;
  while (!isOver()) {
    count += 1;
    for (let isDone = false; !isDone; ) {
      const receipt = await topic.publish({ key, id: `m${count}`, payload: count }).catch(() => {});
      isDone = receipt !== undefined;
      if (receipt !== undefined) expect(receipt.seq).toBe(count);
    }
    await sleep(runtime, runtime.random() * 400);
  }
  return count;
}

async function disturb(simulation: Simulation): Promise<void> {
  const { runtime } = simulation.world;
  const pick = <T>(items: readonly T[]) => items[Math.floor(runtime.random() * items.length)];
  const member = pick(simulation.running);
  const dice = runtime.random();
  if (member === undefined || (dice < 0.2 && simulation.running.length < 5)) {
    await simulation.join();
  } else if (dice < 0.35 && simulation.running.length > 1) {
    simulation.crash(member);
  } else if (dice < 0.7) {
    simulation.freeze(member, 200 + runtime.random() * 6_000);
  } else if (dice < 0.8 && simulation.running.length > 1) {
    await simulation.leave(member);
  } else {
    const link = dice < 0.9 ? member.process.streamLink : member.process.coordinatorLink;
    link.disturb(dice < 0.85 ? 'request' : 'reply', 'drop', { count: 1 + Math.floor(dice * 10) });
  }
}

describe('a fleet with joins, leaves, freezes, crashes and a bad network', () => {
  let refusedCount = 0;
  let repeatedCount = 0;

  it.each([1, 2, 3, 4, 5, 6])(
    'applies every message once, in the order of its key (seed %i)',
    { timeout: 60_000 },
    async (seed) => {
      const simulation = new Simulation({ seed });
      const { runtime } = simulation.world;
      for (const _ of all(3)) await simulation.join();
      await runtime.advance(1_000);
      let isOver = false;
      const keys = all(40).map((index) => `key-${index}`);
      const publishers = all(2).map(() => simulation.publisher());
      const publishing = keys.map((key, index) => {
        const { topic } = publishers[index % 2] as (typeof publishers)[number];
        return publishUntil(simulation, topic, key, () => isOver);
      });
      for (const _ of all(40)) {
        await runtime.advanceUntil(Promise.race([disturb(simulation), sleep(runtime, 30_000)]));
        for (const { process } of publishers)
          if (runtime.random() < 0.3) process.streamLink.disturb('reply', 'drop', { count: 1 });
        await runtime.advance(runtime.random() * 1_500);
      }
      isOver = true;
      if (simulation.running.length === 0) await simulation.join();
      await runtime.advance(30_000);
      const counts = await runtime.advanceUntil(Promise.all(publishing));
      await runtime.advance(30_000);

      expect(simulation.witness.inversions).toEqual([]);
      const lastSeqs = keys.map((key) => simulation.witness.lastSeq(key));
      expect(lastSeqs).toEqual(counts);
      expect(simulation.count('lost')).toBeGreaterThan(0);
      expect(simulation.count('claimed')).toBeGreaterThan(simulation.shardCount);
      refusedCount += simulation.witness.refusedCount;
      repeatedCount += simulation.witness.repeatedCount;
      for (const member of simulation.running) await runtime.advanceUntil(simulation.leave(member));
    },
  );

  it('has seen what it is about: late writes that were refused, and effects that were recognised', () => {
    expect(refusedCount).toBeGreaterThan(0);
    expect(repeatedCount).toBeGreaterThan(0);
  });
});
