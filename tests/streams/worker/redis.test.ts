import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Leases } from '../../../src/leases/index.js';
import { redisCoordinator, redisStreams } from '../../../src/redis.js';
import { StreamWorker, Topic } from '../../../src/streams/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { until } from '../../support/until.js';
import { Witness } from './simulation.js';

/** The same worker over real sockets and a real server, with the clock of the machine. */

const all = (count: number) => Array.from({ length: count }, (_, index) => index);
const shardCount = 64;
let server: RedisServer;
let closers: (() => Promise<unknown>)[] = [];
let groupCount = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await server.stop();
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  closers = [];
});

class Fleet {
  readonly name = `fleet-${groupCount++}`;
  readonly witness = new Witness();
  readonly topic: Topic;
  handledCount = 0;
  lostCount = 0;

  constructor() {
    const store = redisStreams(server.url, { topic: this.name });
    closers.push(() => store.close());
    this.topic = new Topic(store, { shardCount });
  }

  async join(id: string, ttlMs = 1_500): Promise<{ proxy: FaultProxy; worker: StreamWorker }> {
    const proxy = await FaultProxy.start(server.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const store = redisStreams(url, { topic: this.name });
    const coordinator = redisCoordinator(url);
    const leases = new Leases(coordinator, { id, ttlMs });
    const worker = new StreamWorker({
      topic: new Topic(store, { shardCount }),
      leases,
      group: this.name,
      fence: this.witness.fence,
      handler: async (message, { lease }) => {
        await this.witness.apply(message, lease);
        this.handledCount += 1;
      },
    });
    worker.events.on('shardLost', () => {
      this.lostCount += 1;
    });
    closers.push(async () => {
      proxy.heal();
      await worker.stop();
      await leases.close();
      await coordinator.close();
      await store.close();
      await proxy.stop();
    });
    await worker.start();
    return { proxy, worker };
  }

  async publish(keyCount: number, round: number): Promise<void> {
    const messages = all(keyCount).map((key) => ({
      key: `key-${key}`,
      id: `${round}`,
      payload: { round },
    }));
    await this.topic.publishMany(messages);
  }

  async untilEmpty(): Promise<void> {
    const deadlineMs = performance.now() + 15_000;
    while ((await this.topic.backlog()).count > 0) {
      if (performance.now() > deadlineMs) throw new Error('the backlog does not shrink to nothing');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe('workers on Redis', () => {
  it('share 2,000 keys and handle each in order, while one joins and one leaves', async () => {
    const fleet = new Fleet();
    // Long enough that a busy machine costs nobody a lease.
    const first = await fleet.join('a', 6_000);
    await fleet.publish(2_000, 1);
    await fleet.join('b', 6_000);
    await fleet.publish(2_000, 2);
    await first.worker.stop();
    await fleet.publish(2_000, 3);
    await fleet.untilEmpty();
    expect(fleet.witness.inversions).toEqual([]);
    expect(all(2_000).map((key) => fleet.witness.lastSeq(`key-${key}`))).toEqual(
      all(2_000).map(() => 3),
    );
    // A graceful move repeats nothing.
    expect(fleet.witness.repeatedCount).toBe(0);
    expect(fleet.lostCount).toBe(0);
  });

  it('take over from one whose network hangs, and lose and repeat nothing', async () => {
    const fleet = new Fleet();
    const { proxy } = await fleet.join('a');
    await fleet.join('b');
    await fleet.publish(500, 1);
    proxy.up.hold();
    proxy.down.hold();
    for (const round of [2, 3, 4]) await fleet.publish(500, round);
    await fleet.untilEmpty();
    // What it had sent arrives now, and is refused by term.
    proxy.heal();
    await fleet.publish(500, 5);
    await fleet.untilEmpty();
    expect(fleet.witness.inversions).toEqual([]);
    expect(all(500).map((key) => fleet.witness.lastSeq(`key-${key}`))).toEqual(
      all(500).map(() => 5),
    );
    expect(fleet.witness.appliedCount).toBe(2_500);
  });

  it('handle every other shard while one log holds a foreign entry, and that one afterwards', async () => {
    const fleet = new Fleet();
    const { worker } = await fleet.join('a');
    const shard = fleet.topic.shardOf('key-0');
    const details: string[] = [];
    worker.events.on('logCorrupt', (event) => details.push(`${event.shard} ${event.detail}`));
    const log = `{tenure:default:${fleet.name}:s${shard}}:log`;
    const client = new Redis(server.url);
    closers.push(() => client.quit());
    const position = await client.xadd(log, '*', 'text', 'not ours');
    await fleet.publish(500, 1);
    const elsewhere = all(500).filter((key) => fleet.topic.shardOf(`key-${key}`) !== shard);
    await until('all handled', () => fleet.handledCount === elsewhere.length);
    await until('the details', () => details.length >= 2);
    expect(details[0]).toContain(`${shard} `);
    expect(details[0]).toContain(log);
    await client.xdel(log, String(position));
    await fleet.untilEmpty();
    expect(fleet.handledCount).toBe(500);
    expect(fleet.witness.inversions).toEqual([]);
  });

  it('go on after the server was restarted without its data', async () => {
    const fleet = new Fleet();
    await fleet.join('a');
    await fleet.publish(100, 1);
    await fleet.untilEmpty();
    await server.restart({ keepData: false });
    const before = fleet.handledCount;
    // Numbers begin anew with the log, so the witness of before would refuse them for the keys it knows.
    const keys = all(100).map((key) => ({ key: `new-${key}`, id: '1', payload: 0 }));
    await fleet.topic.publishMany(keys);
    await fleet.untilEmpty();
    expect(fleet.handledCount - before).toBe(100);
  });
});
