import { describe, expect, it } from 'vitest';
import type { DeliveredMessage } from '../../../src/streams/worker/message.js';
import { sleep } from '../../../src/time/index.js';
import { World } from './fixture.js';

const all = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the order of messages', () => {
  it('holds for each of 2,000 keys over 256 shards, and every message is handled', async () => {
    const world = new World();
    const topic = world.topic();
    const handled = new Map<string, number[]>();
    const worker = world.worker('a', ({ key, seq }: DeliveredMessage) => {
      handled.set(key, [...(handled.get(key) ?? []), seq]);
    });
    await world.runtime.advanceUntil(worker.claim(...all(256)));
    const messages = all(5).flatMap((round) =>
      all(2_000).map((key) => ({ key: `key-${key}`, id: `id-${round}`, payload: { round } })),
    );
    await world.runtime.advanceUntil(topic.publishMany(messages));
    await world.runtime.advance(1_000);
    expect(handled.size).toBe(2_000);
    for (const seqs of handled.values()) expect(seqs).toEqual([1, 2, 3, 4, 5]);
    expect((await world.runtime.advanceUntil(topic.backlog())).count).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('lets a handler of twenty seconds hold up its own shard and no other', async () => {
    const world = new World();
    const topic = world.topic({ shardCount: 8 });
    const slowKey = 'slow';
    const slowShard = topic.shardOf(slowKey);
    const handledAt = new Map<string, number>();
    const worker = world.worker('a', async ({ key, seq, shard }: DeliveredMessage) => {
      if (key === slowKey && seq === 1) await sleep(world.runtime, 20_000);
      handledAt.set(`${shard} ${key} ${seq}`, world.runtime.now().monotonicMs);
    });
    await world.runtime.advanceUntil(worker.claim(...all(8)));
    await topicPublish(world, topic, slowKey, 1);
    for (const index of all(200)) await topicPublish(world, topic, `key-${index}`, 1);
    await topicPublish(world, topic, slowKey, 2);
    await world.runtime.advance(1_000);
    const others = all(200).filter((index) => topic.shardOf(`key-${index}`) !== slowShard);
    expect(others.length).toBeGreaterThan(100);
    expect(handledAt.size).toBe(others.length);
    await world.runtime.advance(20_000);
    expect(handledAt.size).toBe(202);
    const blocked = [...handledAt].filter(([name]) => name.startsWith(`${slowShard} `));
    expect(blocked[0]?.[0]).toBe(`${slowShard} ${slowKey} 1`);
    for (const [, atMs] of blocked) expect(atMs).toBeGreaterThanOrEqual(20_000);
    await world.runtime.advanceUntil(worker.stop());
  });
});

async function topicPublish(
  world: World,
  topic: ReturnType<World['topic']>,
  key: string,
  id: number,
) {
  await world.runtime.advanceUntil(topic.publish({ key, id: String(id), payload: id }));
}
