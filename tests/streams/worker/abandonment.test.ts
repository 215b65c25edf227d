import { describe, expect, it } from 'vitest';
import type { DeliveredMessage } from '../../../src/streams/worker/message.js';
import { sleep } from '../../../src/time/index.js';
import { World } from './fixture.js';
import { defined } from './process.js';

function publish(world: World, shard: number, ...ids: string[]): void {
  for (const id of ids) {
    world.streams.log(shard).append({ shard, key: 'k', id, payload: '{}' }, world.streams.time);
  }
}

/** A handler whose messages end when the test says so, the longest begun of an id first. */
function gated() {
  const begun: string[] = [];
  const gates: { id: string; open: () => void }[] = [];
  const handler = ({ id }: DeliveredMessage) => {
    begun.push(id);
    return new Promise<void>((open) => gates.push({ id, open }));
  };
  const finish = (id: string) => {
    const index = gates.findIndex((gate) => gate.id === id);
    defined(gates.splice(index, 1)[0]).open();
  };
  return { begun, handler, finish };
}

/** Whether a promise has resolved by now. */
function watched(promise: Promise<unknown>): { isDone: boolean } {
  const state = { isDone: false };
  void promise.then(() => {
    state.isDone = true;
  });
  return state;
}

describe('a handler that ignores its signal', () => {
  it('keeps the drain of its shard open until it has really ended, abandoned or not', async () => {
    const world = new World();
    const { handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    const drained = watched(worker.work.drain(defined(owned)));
    defined(owned).lease.end('revoked');
    await world.runtime.advance(20_000);
    expect(worker.eventsOf('handlerAbandoned')).toHaveLength(1);
    expect(drained.isDone).toBe(false);
    finish('one');
    await world.runtime.settle();
    expect(drained.isDone).toBe(true);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('keeps the drain open also if that was asked for after the lease had ended', async () => {
    const world = new World();
    const { handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(owned).lease.supersede();
    const drained = watched(worker.work.drain(defined(owned)));
    await world.runtime.advance(20_000);
    expect(drained.isDone).toBe(false);
    finish('one');
    await world.runtime.settle();
    expect(drained.isDone).toBe(true);
  });

  it('does not keep the worker from stopping', async () => {
    const world = new World();
    const worker = world.worker('a', () => new Promise(() => {}));
    publish(world, 1, 'one');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(owned).lease.supersede();
    await world.runtime.advanceUntil(worker.stop(), 10_000);
    expect(worker.eventsOf('handlerAbandoned')).toHaveLength(1);
  });
});

describe('several terms of one shard in one process', () => {
  it('have one handler at a time, also when one is lost while it waits for another', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const worker = world.worker('a', handler, { abandonedAfterMs: 60_000 });
    publish(world, 1, 'one');
    const [first] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(first).lease.supersede();
    const [second] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(second).lease.supersede();
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(1_000);
    expect(begun).toEqual(['one']);
    finish('one');
    await world.runtime.advance(10);
    expect(begun).toEqual(['one', 'one']);
    finish('one');
    await world.runtime.advanceUntil(worker.stop());
  });

  it('keep a term that waits for another from being drained before it', async () => {
    const world = new World();
    const { handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one');
    const [first] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(first).lease.supersede();
    await world.runtime.advanceUntil(worker.claim(1));
    const given = watched(worker.giveBack(1));
    await world.runtime.advance(1_000);
    expect(given.isDone).toBe(false);
    finish('one');
    await world.runtime.advance(10);
    expect(given.isDone).toBe(true);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a message that failed', () => {
  it('is not begun again when the drain comes while others have the processor', async () => {
    const world = new World();
    const seen: string[] = [];
    let breath: Promise<void> | undefined;
    const worker = world.worker(
      'a',
      ({ id }: DeliveredMessage) => {
        seen.push(id);
        breath = sleep(world.runtime, 50);
        throw new Error('never');
      },
      { breather: { next: () => breath } as never, retry: { firstMs: 10, limitMs: 10 } },
    );
    publish(world, 1, 'one');
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(20);
    const given = worker.giveBack(1);
    await world.runtime.advanceUntil(given);
    expect(seen).toEqual(['one']);
    await world.runtime.advanceUntil(worker.stop());
  });
});
