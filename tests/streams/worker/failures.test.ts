import { describe, expect, it } from 'vitest';
import {
  RecordCorruptError,
  SequenceReusedError,
  StaleTermError,
} from '../../../src/errors/index.js';
import type { DeliveredMessage } from '../../../src/streams/worker/message.js';
import { World } from './fixture.js';
import { defined } from './process.js';
import { Witness } from './simulation.js';

const publish = (world: World, shard: number, ...keys: string[]) => {
  for (const [index, key] of keys.entries()) {
    const request = { shard, key, id: `${key}-${index}`, payload: '{}' };
    world.streams.log(shard).append(request, world.streams.time);
  }
};

describe('a handler that throws', () => {
  it('gets the same message again after growing pauses, and nothing behind it passes', async () => {
    const world = new World();
    const seen: string[] = [];
    let failuresLeft = 4;
    const worker = world.worker('a', ({ key, attempt }: DeliveredMessage) => {
      seen.push(`${key} ${attempt}`);
      if (key === 'bad' && failuresLeft-- > 0) throw new Error('not yet');
    });
    publish(world, 3, 'first', 'bad', 'behind');
    await world.runtime.advanceUntil(worker.claim(3));
    await world.runtime.advance(10_000);
    expect(seen).toEqual(['first 1', 'bad 1', 'bad 2', 'bad 3', 'bad 4', 'bad 5', 'behind 1']);
    const failures = worker.eventsOf('handlerFailed');
    expect(failures.map(({ attempt, key }) => `${key} ${attempt}`)).toEqual([
      'bad 1',
      'bad 2',
      'bad 3',
      'bad 4',
    ]);
    const pauses = failures.map(({ retryInMs }) => retryInMs);
    for (const [index, pauseMs] of pauses.entries()) {
      expect(pauseMs).toBeGreaterThanOrEqual(50 * 2 ** index);
      expect(pauseMs).toBeLessThanOrEqual(100 * 2 ** index);
    }
    await world.runtime.advanceUntil(worker.stop());
  });

  it('blocks no other shard', async () => {
    const world = new World();
    const seen: number[] = [];
    const worker = world.worker('a', ({ shard }: DeliveredMessage) => {
      if (shard === 1) throw new Error('never');
      seen.push(shard);
    });
    publish(world, 1, 'x');
    publish(world, 2, 'y', 'z');
    await world.runtime.advanceUntil(worker.claim(1, 2));
    await world.runtime.advance(60_000);
    expect(seen).toEqual([2, 2]);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('does not delay a drain: the failing message stays in the log for the next owner', async () => {
    const world = new World();
    const first = world.worker('a', () => {
      throw new Error('never');
    });
    publish(world, 1, 'x', 'y');
    await world.runtime.advanceUntil(first.claim(1));
    await world.runtime.advance(60_000);
    const before = world.runtime.now().monotonicMs;
    await world.runtime.advanceUntil(first.stop());
    expect(world.runtime.now().monotonicMs - before).toBeLessThan(10);
    const seen: string[] = [];
    const second = world.worker('b', ({ key, attempt }: DeliveredMessage) => {
      seen.push(`${key} ${attempt}`);
    });
    await world.runtime.advanceUntil(second.claim(1));
    await world.runtime.advance(10);
    expect(seen).toEqual(['x 1', 'y 1']);
    await world.runtime.advanceUntil(second.stop());
  });

  it('ends the lease at once if a fence refused it, also when the error was wrapped', async () => {
    const world = new World();
    const worker = world.worker('a', (_message: DeliveredMessage, { lease }) => {
      throw new Error('could not save', {
        cause: new StaleTermError(lease.name, lease.term, lease.term + 1),
      });
    });
    publish(world, 1, 'x');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.settle();
    expect(defined(owned).lease.endReason).toBe('superseded');
    expect(worker.eventsOf('shardRefused')).toMatchObject([{ shard: 1, by: 'handler' }]);
    expect(worker.eventsOf('handlerFailed')).toEqual([]);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('is tried again if the stale term is that of another name', async () => {
    const world = new World();
    const worker = world.worker('a', () => {
      throw new StaleTermError('another/name', 1, 2);
    });
    publish(world, 1, 'x');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(1_000);
    expect(defined(owned).lease.state).toBe('held');
    expect(worker.eventsOf('handlerFailed').length).toBeGreaterThan(1);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a payload that is not JSON', () => {
  it('is reported like a failing handler, without its text, and never skipped', async () => {
    const world = new World();
    const seen: string[] = [];
    const worker = world.worker('a', ({ key }: DeliveredMessage) => {
      seen.push(key);
    });
    const request = { shard: 1, key: 'foreign', id: '1', payload: 'secret{' };
    world.streams.log(1).append(request, world.streams.time);
    publish(world, 1, 'behind');
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(2_000);
    expect(seen).toEqual([]);
    const [failure] = worker.eventsOf('handlerFailed');
    expect(failure?.error).toBeInstanceOf(RecordCorruptError);
    expect(String(failure?.error)).not.toContain('secret');
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a shard that makes no progress', () => {
  it('raises an alarm, and raises it again as long as that lasts', async () => {
    const world = new World();
    const worker = world.worker('a', () => new Promise(() => {}), { stalledAfterMs: 20_000 });
    publish(world, 1, 'stuck');
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(19_000);
    expect(worker.eventsOf('shardStalled')).toEqual([]);
    await world.runtime.advance(60_000);
    const alarms = worker.eventsOf('shardStalled');
    expect(alarms.length).toBeGreaterThanOrEqual(2);
    expect(alarms[0]).toMatchObject({ shard: 1, key: 'stuck', attempt: 1 });
    expect(alarms[0]?.stuckMs).toBeGreaterThanOrEqual(20_000);
  });
});

describe('a log that numbers anew', () => {
  it('gets no message past the record of another one: it is tried again, reported and kept', async () => {
    const world = new World();
    const witness = new Witness();
    const { runtime } = world;
    const topic = world.topic({ shardCount: 2 });
    const worker = world.worker(
      'a',
      (message: DeliveredMessage, { lease }) => witness.apply(message, lease),
      { stalledAfterMs: 10_000 },
    );
    const publishAll = (ids: string[]) =>
      runtime.advanceUntil(topic.publishMany(ids.map((id) => ({ key: 'k', id, payload: 0 }))));
    await runtime.advanceUntil(worker.claim(0, 1));
    await publishAll(['a', 'b']);
    await runtime.advance(100);
    expect(witness.lastSeq('k')).toBe(2);
    world.streams.restart({ keepData: false });
    await publishAll(['c', 'd', 'e']);
    await runtime.advance(30_000);
    expect(worker.eventsOf('logReset').length).toBeGreaterThan(0);
    const [failure] = worker.eventsOf('handlerFailed');
    expect(failure).toMatchObject({ key: 'k', seq: 1, id: 'c' });
    expect(failure?.error).toBeInstanceOf(SequenceReusedError);
    expect(worker.eventsOf('shardStalled')[0]).toMatchObject({ key: 'k', id: 'c' });
    expect(world.streams.log(topic.shardOf('k')).messageCount).toBe(3);
    expect(witness.appliedCount).toBe(2);
    expect(witness.repeatedCount).toBe(0);
    await runtime.advanceUntil(worker.stop());
  });
});
