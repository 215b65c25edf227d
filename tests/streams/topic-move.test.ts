import { describe, expect, it } from 'vitest';
import { KeyMovingError, OptionError } from '../../src/errors/index.js';
import { Pins, shardOf } from '../../src/shards/index.js';
import { movePin } from '../../src/streams/pin-move.js';
import type { Topic } from '../../src/streams/topic.js';
import { sleep } from '../../src/time/index.js';
import { defined, type TestProcess } from './worker/process.js';
import { Simulation } from './worker/simulation.js';

const shardCount = 8;
const key = 'big-customer';
const home = shardOf(key, shardCount);
const extra = shardCount + 3;

const loadPins = ({ leases, runtime }: TestProcess) =>
  Pins.load({ coordinator: leases.coordinator, group: 'orders', shardCount, runtime });

interface Setup {
  readonly simulation: Simulation;
  /** A process that publishes, with pins of its own that only a refused publish refreshes. */
  publisher(): Promise<{ topic: Topic; process: TestProcess }>;
}

async function setUp(seed: number, workerCount: number): Promise<Setup> {
  const simulation = new Simulation({ seed, shardCount, slowestHandlerMs: 30 });
  const { runtime } = simulation.world;
  for (let index = 0; index < workerCount; index++)
    await runtime.advanceUntil(simulation.join(loadPins));
  await runtime.advance(3_000);
  const publisher = async () => {
    const process = simulation.world.process(`pins-${runtime.randomHex(3)}`);
    return simulation.publisher(await runtime.advanceUntil(loadPins(process)));
  };
  return { simulation, publisher };
}

async function hammer(simulation: Simulation, topic: Topic, name: string, isOver: () => boolean) {
  const seqs: number[] = [];
  for (let count = 0; !isOver(); count++) {
    const message = { key, id: `${name}-${count}`, payload: count };
    seqs.push((await topic.publish(message)).seq);
    await sleep(simulation.world.runtime, simulation.world.runtime.random() * 20);
  }
  return seqs;
}

describe('a move of a key', () => {
  it.each([1, 2, 3])(
    'keeps its order and its numbers, back and forth under fire (seed %i)',
    async (seed) => {
      const { simulation, publisher } = await setUp(seed, 2);
      const { runtime } = simulation.world;
      let isOver = false;
      const hammers = [];
      for (const name of ['a', 'b', 'c']) {
        const { topic } = await publisher();
        hammers.push(hammer(simulation, topic, name, () => isOver));
      }
      const { topic: mover } = await publisher();
      const destinations = [extra, home, (home + 1) % shardCount, extra, home];
      const reached = new Set<number>();
      for (const to of destinations) {
        await runtime.advanceUntil(movePin(mover, key, to));
        reached.add(mover.shardOf(key));
        await runtime.advance(2_000);
      }
      isOver = true;
      const published = (await runtime.advanceUntil(Promise.all(hammers))).flat();
      await runtime.advance(5_000);
      expect([...reached]).toEqual([extra, home, (home + 1) % shardCount]);
      expect(published.sort((a, b) => a - b)).toEqual(published.map((_, index) => index + 1));
      expect(published.length).toBeGreaterThan(500);
      expect(simulation.witness.inversions).toEqual([]);
      expect(simulation.witness.lastSeq(key)).toBe(published.length);
      for (const member of simulation.running) await runtime.advanceUntil(simulation.leave(member));
    },
  );

  it.each(['beginMove 1', 'seal 1', 'seal 2', 'open 1', 'finishMove 1'])(
    'is completed by repeating it after a crash at: %s',
    async (point) => {
      const { simulation, publisher } = await setUp(1, 1);
      const { runtime } = simulation.world;
      const { topic } = await publisher();
      for (const id of ['1', '2', '3'])
        await runtime.advanceUntil(topic.publish({ key, id, payload: 0 }));
      const crashing = await publisher();
      const [operation, count] = point.split(' ');
      crashAt(crashing.topic, operation ?? '', Number(count));
      const crashed = movePin(crashing.topic, key, extra);
      await expect(runtime.advanceUntil(crashed)).rejects.toThrow('crashed');
      // Somebody else, who knows nothing of the first try.
      const { topic: other } = await publisher();
      expect(await runtime.advanceUntil(movePin(other, key, extra))).toMatchObject({ to: extra });
      const receipt = await runtime.advanceUntil(topic.publish({ key, id: '4', payload: 0 }));
      expect(receipt).toEqual({ seq: 4, duplicate: false, shard: extra });
      await runtime.advance(5_000);
      expect(simulation.witness.lastSeq(key)).toBe(4);
      expect(simulation.witness.inversions).toEqual([]);
      for (const member of simulation.running) await runtime.advanceUntil(simulation.leave(member));
    },
  );

  it('is given up for now when nobody finishes the source, and goes on when somebody does', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime } = simulation.world;
    const { topic } = await publisher();
    await runtime.advanceUntil(topic.publish({ key, id: '1', payload: 0 }));
    const { topic: mover } = await publisher();
    const stuck = movePin(mover, key, extra, { timeoutMs: 1_000 });
    await expect(runtime.advanceUntil(stuck)).rejects.toBeInstanceOf(KeyMovingError);
    const early = topic.publish({ key, id: '2', payload: 0 }, { timeoutMs: 500 });
    await expect(runtime.advanceUntil(early)).rejects.toBeInstanceOf(KeyMovingError);
    await runtime.advanceUntil(simulation.join(loadPins));
    await runtime.advance(3_000);
    await runtime.advanceUntil(movePin(mover, key, extra));
    const receipt = await runtime.advanceUntil(topic.publish({ key, id: '2', payload: 0 }));
    expect(receipt).toMatchObject({ seq: 2, shard: extra });
    await runtime.advance(3_000);
    expect(simulation.witness.lastSeq(key)).toBe(2);
    for (const member of simulation.running) await runtime.advanceUntil(simulation.leave(member));
  });

  it('that was overtaken while it slept seals nothing', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime } = simulation.world;
    const sleeper = (await publisher()).topic;
    const gate = gateAt(sleeper.store, 'seal');
    const overtaken = movePin(sleeper, key, extra).catch((error: unknown) => error);
    await runtime.advance(100);
    const { topic } = await publisher();
    await runtime.advanceUntil(movePin(topic, key, extra));
    await runtime.advanceUntil(movePin(topic, key, home));
    gate.open();
    expect(await runtime.advanceUntil(overtaken)).toMatchObject({ option: 'to' });
    const publish = topic.publish({ key, id: '1', payload: 0 });
    expect(await runtime.advanceUntil(publish)).toMatchObject({ shard: home });
  });

  it('that was overtaken while it slept opens nothing', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime, streams } = simulation.world;
    const sleeper = (await publisher()).topic;
    const gate = gateAt(sleeper.store, 'open');
    const overtaken = movePin(sleeper, key, extra).catch((error: unknown) => error);
    await runtime.advance(100);
    const { topic } = await publisher();
    await runtime.advanceUntil(movePin(topic, key, extra));
    const nextGate = gateAt(topic.store, 'open');
    const next = movePin(topic, key, home);
    await runtime.advance(100);
    gate.open();
    expect(await runtime.advanceUntil(overtaken)).toMatchObject({ option: 'to' });
    const request = { shard: extra, key, id: '1', payload: '0' };
    expect(streams.log(extra).append(request, streams.time)).toEqual({ outcome: 'moved' });
    nextGate.open();
    await runtime.advanceUntil(next);
  });

  it('that was overtaken while it slept does not finish a later one', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime } = simulation.world;
    const sleeper = (await publisher()).topic;
    const gate = gateAt(defined(sleeper.pins), 'finishMove');
    const overtaken = movePin(sleeper, key, extra, { timeoutMs: 1_000 }).catch(
      (error: unknown) => error,
    );
    await runtime.advance(100);
    const { topic } = await publisher();
    await runtime.advanceUntil(movePin(topic, key, extra));
    await runtime.advanceUntil(movePin(topic, key, home));
    await runtime.advanceUntil(topic.publish({ key, id: '1', payload: 0 }));
    const unfinished = movePin(topic, key, extra, { timeoutMs: 500 });
    await expect(runtime.advanceUntil(unfinished)).rejects.toBeInstanceOf(KeyMovingError);
    gate.open();
    expect(await runtime.advanceUntil(overtaken)).toBeInstanceOf(KeyMovingError);
    const table = await runtime.advanceUntil(defined(topic.pins).refresh());
    expect(table.lookup(key)).toEqual({ state: 'moving', from: home, to: extra });
  });

  it('to where the key is opens it, whoever has sealed it there', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime } = simulation.world;
    const { topic } = await publisher();
    await runtime.advanceUntil(topic.store.seal(home, key, 0, { timeoutMs: 200 }));
    await runtime.advanceUntil(movePin(topic, key, home));
    const publish = topic.publish({ key, id: '1', payload: 0 }, { timeoutMs: 500 });
    expect(await runtime.advanceUntil(publish)).toMatchObject({ shard: home });
  });

  it('says so when the table of pins is older than the log', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { runtime } = simulation.world;
    const { topic } = await publisher();
    await runtime.advanceUntil(topic.store.seal(home, key, 1_000, { timeoutMs: 200 }));
    const move = movePin(topic, key, extra, { timeoutMs: 500 }).catch((error: unknown) => error);
    const error = await runtime.advanceUntil(move);
    expect(error).toBeInstanceOf(KeyMovingError);
    expect(String(error)).toContain('newer table of pins');
  });

  it('to where the key is changes nothing', async () => {
    const { simulation, publisher } = await setUp(1, 0);
    const { topic } = await publisher();
    const { runtime } = simulation.world;
    const move = await runtime.advanceUntil(movePin(topic, key, home));
    expect(move).toEqual({ key, from: home, to: home });
    expect(await runtime.advanceUntil(topic.publish({ key, id: '1', payload: 0 }))).toMatchObject({
      shard: home,
    });
  });

  it('needs pins', async () => {
    const { topic } = new Simulation({ seed: 1 }).publisher();
    await expect(movePin(topic, key, 1)).rejects.toBeInstanceOf(OptionError);
  });
});

/** Every call of the method waits until the gate is opened, as that of a frozen process would. */
function gateAt<Target extends object>(
  target: Target,
  method: keyof Target & string,
): { open: () => void } {
  const methods = target as Record<string, (...parameters: unknown[]) => Promise<unknown>>;
  const original = methods[method];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  methods[method] = async (...parameters) => {
    await opened;
    return original?.apply(target, parameters);
  };
  return { open };
}

/** The process is gone right after this call was executed. */
function crashAt(topic: Topic, operation: string, count: number): void {
  let callCount = 0;
  const isStore = operation === 'seal' || operation === 'open';
  const target = (isStore ? topic.store : topic.pins) as unknown as Record<
    string,
    (...parameters: unknown[]) => Promise<unknown>
  >;
  const original = target[operation];
  target[operation] = async (...parameters) => {
    const result = await original?.apply(target, parameters);
    if (++callCount === count) throw new Error('crashed');
    return result;
  };
}
