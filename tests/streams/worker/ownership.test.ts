import { describe, expect, it } from 'vitest';
import { Holder } from '../../../src/coordinators/index.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import type { DeliveredMessage, HandlerContext } from '../../../src/streams/worker/message.js';
import { sleep } from '../../../src/time/index.js';
import { World } from './fixture.js';
import { defined } from './process.js';

function publish(world: World, shard: number, ...ids: string[]): void {
  for (const id of ids) {
    world.streams.log(shard).append({ shard, key: 'k', id, payload: '{}' }, world.streams.time);
  }
}

/** A handler whose messages end when the test says so. */
function gated() {
  const begun: string[] = [];
  const gates = new Map<string, () => void>();
  const handler = ({ id }: DeliveredMessage) => {
    begun.push(id);
    return new Promise<void>((resolve) => gates.set(id, resolve));
  };
  return { begun, handler, finish: (id: string) => defined(gates.get(id))() };
}

describe('the beginning of a shard', () => {
  it('claims at the fence, then installs in the log, then reads', async () => {
    const world = new World();
    const trace: string[] = [];
    const resource = memoryFence();
    const worker = world.worker('a', () => {}, {
      fence: {
        claim: async (token) => {
          worker.process.trace.push(`claim ${token.term}`);
          await resource.claim(token);
        },
      },
    });
    const owned = await world.runtime.advanceUntil(worker.claim(1, 2));
    await world.runtime.advance(10);
    trace.push(...worker.process.trace.filter((call) => call !== 'watch'));
    const claims = owned.map(({ lease }) => `claim ${lease.term}`);
    expect(trace).toEqual([...claims, 'install', 'step']);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('gives up only the shard that the fence refuses', async () => {
    const world = new World();
    const fence = memoryFence();
    const worker = world.worker('a', () => {}, { fence });
    // Somebody has been here with a higher term than the coordinator, which lost its data, grants now.
    const term = 2 ** 50;
    const holder = Holder.create('other', world.runtime);
    await fence.claim({ name: 'group/shards/1', term, holder });
    const [one, two] = await world.runtime.advanceUntil(worker.claim(1, 2));
    expect(one?.lease.endReason).toBe('superseded');
    expect(two?.lease.state).toBe('held');
    expect(worker.eventsOf('shardRefused')).toMatchObject([
      { shard: 1, by: 'fence', installedTerm: term },
    ]);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('gives none back after a failure while another claim is under way', async () => {
    const world = new World();
    let underWayCount = 0;
    const worker = world.worker('a', () => {}, {
      fence: {
        claim: async ({ name }) => {
          underWayCount += 1;
          await sleep(world.runtime, name.endsWith('/1') ? 10 : 500);
          underWayCount -= 1;
          if (name.endsWith('/1')) throw new Error('no connection');
        },
      },
    });
    const shards = Array.from({ length: 40 }, (_, shard) => shard);
    const counts: number[] = [];
    const claim = worker.claim(...shards).catch(() => counts.push(underWayCount));
    await world.runtime.advanceUntil(claim);
    expect(counts).toEqual([0]);
    // What had not been begun at the failure is not claimed any more.
    expect(world.runtime.now().monotonicMs).toBeLessThan(900);
    await world.runtime.advanceUntil(worker.stop());
  });

  it('gives all shards back if the log cannot be reached', async () => {
    const world = new World();
    const worker = world.worker('a', () => {});
    worker.process.streamLink.cut();
    await expect(world.runtime.advanceUntil(worker.claim(1, 2))).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
    });
    expect(worker.work.pump.runners.size).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a drain', () => {
  it('ends the current message, tells the log, and leaves the rest to the successor', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const first = world.worker('a', handler);
    publish(world, 1, 'one', 'two', 'three');
    await world.runtime.advanceUntil(first.claim(1));
    await world.runtime.advance(10);
    let isDrained = false;
    const given = first.giveBack(1).then(() => {
      isDrained = true;
    });
    await world.runtime.advance(5_000);
    expect(isDrained).toBe(false);
    finish('one');
    await world.runtime.advanceUntil(given);
    expect(begun).toEqual(['one']);
    const seen: string[] = [];
    const second = world.worker('b', ({ id }: DeliveredMessage) => {
      seen.push(id);
    });
    await world.runtime.advanceUntil(second.claim(1));
    await world.runtime.advance(10);
    expect(seen).toEqual(['two', 'three']);
    await world.runtime.advanceUntil(first.stop());
    await world.runtime.advanceUntil(second.stop());
  });

  it('tells the log again until it answers', async () => {
    const world = new World();
    const { handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one');
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    const given = worker.giveBack(1);
    worker.process.streamLink.disturb('reply', 'drop', { count: 2 });
    finish('one');
    // Two timeouts of 200 ms and the pauses after them; not as late as the next sweep.
    await world.runtime.advanceUntil(given, 1_000);
    expect(worker.eventsOf('storeFailed')).toHaveLength(2);
    expect(world.streams.log(1).messageCount).toBe(0);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('an uncertain lease', () => {
  it('begins no message until it is held again', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one', 'two');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    worker.process.coordinatorLink.cut();
    await world.runtime.advance(1_300);
    expect(defined(owned).lease.state).toBe('uncertain');
    finish('one');
    await world.runtime.advance(100);
    expect(begun).toEqual(['one']);
    expect(world.streams.log(1).messageCount).toBe(1);
    worker.process.coordinatorLink.heal();
    await world.runtime.advance(500);
    expect(defined(owned).lease.state).toBe('held');
    expect(begun).toEqual(['one', 'two']);
    finish('two');
    await world.runtime.advanceUntil(worker.stop());
  });

  it('begins none after it was lost', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one', 'two');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    worker.process.coordinatorLink.cut();
    await world.runtime.advance(1_300);
    finish('one');
    await world.runtime.advance(3_000);
    expect(defined(owned).lease.state).toBe('lost');
    worker.process.coordinatorLink.heal();
    await world.runtime.advance(60_000);
    expect(begun).toEqual(['one']);
    await world.runtime.advanceUntil(worker.stop());
  });
});

describe('a takeover', () => {
  it('begins with what the frozen predecessor had in its hands, in order; its late end counts for nothing', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const first = world.worker('a', handler);
    publish(world, 1, 'one', 'two', 'three');
    const [owned] = await world.runtime.advanceUntil(first.claim(1));
    await world.runtime.advance(10);
    expect(begun).toEqual(['one']);
    first.process.freeze();
    const seen: string[] = [];
    const second = world.worker('b', ({ id }: DeliveredMessage) => {
      seen.push(id);
    });
    await world.runtime.advanceUntil(second.claim(1));
    await world.runtime.advance(10);
    expect(seen).toEqual(['one', 'two', 'three']);
    publish(world, 1, 'four');
    finish('one');
    first.process.thaw();
    await world.runtime.advance(10_000);
    expect(defined(owned).lease.state).toBe('lost');
    expect(begun).toEqual(['one']);
    expect(seen).toEqual(['one', 'two', 'three', 'four']);
    await world.runtime.advanceUntil(first.stop());
    await world.runtime.advanceUntil(second.stop());
  });

  it('refuses the request that the predecessor had sent before it froze', async () => {
    const world = new World();
    const { handler, finish } = gated();
    const first = world.worker('a', handler);
    publish(world, 1, 'one', 'two');
    await world.runtime.advanceUntil(first.claim(1));
    await world.runtime.advance(10);
    first.process.streamLink.disturb('request', 'hold');
    finish('one');
    await world.runtime.settle();
    first.process.freeze();
    const second = gated();
    const successor = world.worker('b', second.handler);
    await world.runtime.advanceUntil(successor.claim(1));
    await world.runtime.advance(10);
    expect(second.begun).toEqual(['one']);
    first.process.streamLink.flush();
    await world.runtime.advance(10);
    // Had it been executed, the log would have lost "one" under the hands of its new owner.
    expect(world.streams.log(1).messageCount).toBe(2);
    second.finish('one');
    await world.runtime.advance(10);
    second.finish('two');
    await world.runtime.advanceUntil(successor.stop());
    expect(world.streams.log(1).messageCount).toBe(0);
  });

  it('lets a second term in the same process wait for the handler of the first', async () => {
    const world = new World();
    const { begun, handler, finish } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one', 'two');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    defined(owned).lease.supersede();
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(1_000);
    expect(begun).toEqual(['one']);
    finish('one');
    await world.runtime.advance(10);
    expect(begun).toEqual(['one', 'one']);
    finish('one');
    await world.runtime.advance(10);
    finish('two');
    await world.runtime.advanceUntil(worker.stop());
  });

  it('reports a handler that ignores its signal, and then goes on without it', async () => {
    const world = new World();
    const { begun, handler } = gated();
    const worker = world.worker('a', handler);
    publish(world, 1, 'one');
    const [owned] = await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    const { lease } = defined(owned);
    lease.supersede();
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(6_000);
    expect(worker.eventsOf('handlerAbandoned')).toMatchObject([
      { shard: 1, id: 'one', term: lease.term, runningMs: 5_000 },
    ]);
    expect(begun).toEqual(['one', 'one']);
  });

  it('aborts the signal of the message that runs', async () => {
    const world = new World();
    const aborted: string[] = [];
    const worker = world.worker('a', ({ id }: DeliveredMessage, { signal }: HandlerContext) => {
      signal.addEventListener('abort', () => aborted.push(id));
      return new Promise(() => {});
    });
    publish(world, 1, 'one');
    await world.runtime.advanceUntil(worker.claim(1));
    await world.runtime.advance(10);
    worker.process.coordinatorLink.hang();
    await world.runtime.advance(2_500);
    expect(aborted).toEqual(['one']);
  });
});
