import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { traces } from '../../src/events/index.js';
import { Leases } from '../../src/leases/index.js';
import type { MetricsOptions } from '../../src/metrics/index.js';
import { type MessageHandler, StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { subscribed } from '../support/diagnostics.js';
import { scraped } from './scrape.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

const shardCount = 4;

/** Workers of one group that share stores, all under one virtual clock, each with its metrics. */
function createFleet() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const streams = new MemoryStreams({ runtime });
  const open = (link = new FaultLink()) =>
    new Topic(memoryStreams(streams, { runtime, link }), { runtime, shardCount });
  const topic = open();
  const member = (id: string, handler: MessageHandler<never>, options: MetricsOptions = {}) => {
    const link = new FaultLink();
    const leases = new Leases(memoryCoordinator(store, { runtime, link }), { id, runtime });
    const worker = new StreamWorker({ topic: open(), leases, group: 'orders', handler });
    const { metrics, scrape } = scraped({ runtime, ...options });
    metrics.observe(worker);
    ended.push(
      () => runtime.advanceUntil(leases.close()),
      () => runtime.advanceUntil(worker.stop()),
      () => metrics.close(),
    );
    return { worker, link, metrics, scrape: () => runtime.advanceUntil(scrape()) };
  };
  return { runtime, topic, streams, open, member };
}

const messages = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `k${index}`, id: 'a', payload: { index } }));

describe('the metrics of a worker', () => {
  it('count what it handled, and how long its handlers took, by outcome', async () => {
    const { runtime, topic, member } = createFleet();
    let isFailing = true;
    const { worker, scrape } = member('a', async () => {
      await new Promise<void>((resolve) => runtime.setTimer(250, resolve));
      if (isFailing) {
        isFailing = false;
        throw new Error('not yet');
      }
    });
    await runtime.advanceUntil(topic.publish({ key: 'k', id: '1', payload: 1 }));
    await runtime.advanceUntil(worker.start());
    await runtime.advance(5_000);
    const samples = await scrape();
    const handling = 'tenure_message_handling_seconds';
    expect(samples.get(`${handling}_count{group="orders",outcome="handled"}`)).toBe(1);
    expect(samples.get(`${handling}_sum{group="orders",outcome="handled"}`)).toBeCloseTo(0.25);
    expect(samples.get(`${handling}_count{group="orders",outcome="failed"}`)).toBe(1);
    expect(samples.get(`${handling}_bucket{group="orders",outcome="failed",le="0.1"}`)).toBe(0);
    expect(samples.get(`${handling}_bucket{group="orders",outcome="failed",le="0.5"}`)).toBe(1);
    expect(samples.get('tenure_messages_handled_total{group="orders"}')).toBe(1);
  });

  it('show which shards it owns in which term, the backlog of each, its age, and what is in flight', async () => {
    const { runtime, topic, member } = createFleet();
    await runtime.advanceUntil(topic.publishMany(messages(8)));
    const { worker, scrape } = member('a', () => new Promise(() => {}));
    await runtime.advanceUntil(worker.start());
    await runtime.advance(30_000);
    const samples = await scrape();
    const busy = new Set(messages(8).map(({ key }) => topic.shardOf(key)));
    expect(samples.get('tenure_shards_owned{group="orders"}')).toBe(shardCount);
    expect(samples.get('tenure_shard_members{group="orders"}')).toBe(1);
    let count = 0;
    for (const { shard, term } of worker.shards) {
      const labels = `{group="orders",shard="${shard}"}`;
      expect(samples.get(`tenure_shard_term${labels}`)).toBe(term);
      expect(samples.get(`tenure_messages_in_flight${labels}`)).toBe(busy.has(shard) ? 1 : 0);
      count += samples.get(`tenure_backlog_messages${labels}`) ?? Number.NaN;
      const age = samples.get(`tenure_backlog_oldest_age_seconds${labels}`);
      expect(age).toBeCloseTo(busy.has(shard) ? 30 : 0, 0);
    }
    expect(count).toBe(8);
  });

  it('show one series for all shards where there are more than the limit', async () => {
    const { runtime, topic, member } = createFleet();
    await runtime.advanceUntil(topic.publishMany(messages(8)));
    const handler = () => new Promise(() => {});
    const { worker, scrape } = member('a', handler, { shardSeriesLimit: shardCount - 1 });
    await runtime.advanceUntil(worker.start());
    await runtime.advance(30_000);
    const samples = await scrape();
    const ofShards = [...samples.keys()].filter((name) => name.includes('shard="'));
    expect(ofShards).toEqual([
      'tenure_shard_takeover_gaps_seconds_total{group="orders",shard="all"}',
      'tenure_shard_takeovers_total{group="orders",shard="all",how="forced"}',
      'tenure_shard_takeovers_total{group="orders",shard="all",how="handed-off"}',
      'tenure_shard_redelivered_messages_total{group="orders",shard="all"}',
      'tenure_backlog_messages{group="orders",shard="all"}',
      'tenure_backlog_oldest_age_seconds{group="orders",shard="all"}',
      'tenure_messages_in_flight{group="orders",shard="all"}',
    ]);
    const busy = new Set(messages(8).map(({ key }) => topic.shardOf(key)));
    expect(samples.get('tenure_messages_in_flight{group="orders",shard="all"}')).toBe(busy.size);
    expect(samples.get('tenure_backlog_messages{group="orders",shard="all"}')).toBe(8);
  });

  it('count claims and handoffs when another joins, and takeovers with their gap when one is cut off', async () => {
    const { runtime, member } = createFleet();
    const [a, b] = [member('a', () => {}), member('b', () => {})];
    await runtime.advanceUntil(a.worker.start());
    await runtime.advanceUntil(b.worker.start());
    await runtime.advance(20_000);
    const moves = (how: string) => `tenure_shard_moves_total{group="orders",how="${how}"}`;
    const before = { a: await a.scrape(), b: await b.scrape() };
    expect(before.a.get(moves('claimed'))).toBe(shardCount);
    expect(before.a.get(moves('handed-off'))).toBe(shardCount / 2);
    expect(before.b.get(moves('claimed'))).toBe(shardCount / 2);
    expect(before.b.get(moves('taken-over'))).toBe(0);
    a.link.hang();
    await runtime.advance(120_000);
    const after = { a: await a.scrape(), b: await b.scrape() };
    expect(after.b.get(moves('taken-over'))).toBe(shardCount / 2);
    const gap = 'tenure_shard_takeover_gap_seconds_count{group="orders"}';
    expect(after.b.get(gap)).toBe(shardCount / 2);
    expect(after.a.get('tenure_shards_lost_total{group="orders",reason="unreachable"}')).toBe(2);
    expect(after.a.get('tenure_shards_owned{group="orders"}')).toBe(0);
  });

  it('count per shard the takeovers that were forced with their gaps, those handed off, and what was read again', async () => {
    const { runtime, topic, member } = createFleet();
    const a = member('a', () => new Promise(() => {}));
    const b = member('b', () => {});
    const each = (
      samples: ReadonlyMap<string, number>,
      shards: readonly number[],
      metric: string,
      how = '',
    ) =>
      shards.map((shard) =>
        samples.get(`tenure_shard_${metric}{group="orders",shard="${shard}"${how}}`),
      );
    await runtime.advanceUntil(a.worker.start());
    await runtime.advanceUntil(b.worker.start());
    await runtime.advance(20_000);
    const given = b.worker.shards.map(({ shard }) => shard);
    const kept = a.worker.shards.map(({ shard }) => shard);
    expect(given.length + kept.length).toBe(shardCount);
    const [handedOff, forced] = [',how="handed-off"', ',how="forced"'];
    expect(each(await a.scrape(), given, 'takeovers_total', handedOff)).toEqual(given.map(() => 1));
    expect(each(await a.scrape(), kept, 'takeovers_total', handedOff)).toEqual(kept.map(() => 0));
    // One in the hands of its owner, one read ahead.
    const [shard = 0] = kept;
    const key = Array.from({ length: 100 }, (_, index) => `k${index}`).find(
      (one) => topic.shardOf(one) === shard,
    ) as string;
    const publish = (id: string) => runtime.advanceUntil(topic.publish({ key, id, payload: 1 }));
    await publish('1');
    await publish('2');
    await runtime.advance(1_000);
    const gapSeconds = new Map<number, number>();
    const expired = new Promise((resolve) => b.worker.shardEvents.on('takenOver', resolve));
    b.worker.shardEvents.on('takenOver', ({ shard, gapMs }) => gapSeconds.set(shard, gapMs / 1000));
    a.link.hang();
    await runtime.advanceUntil(expired);
    await runtime.advance(10_000);
    const samples = await b.scrape();
    expect(each(samples, kept, 'takeovers_total', forced)).toEqual(kept.map(() => 1));
    expect(each(samples, given, 'takeovers_total', forced)).toEqual(given.map(() => 0));
    const gaps = (shards: readonly number[]) =>
      each(samples, shards, 'takeover_gaps_seconds_total');
    expect(gaps(kept)).toEqual(kept.map((one) => gapSeconds.get(one)));
    expect(gaps(given)).toEqual(given.map(() => 0));
    const again = each(samples, kept, 'redelivered_messages_total');
    expect(again).toEqual(kept.map((one) => (one === shard ? 2 : 0)));
    expect(each(samples, given, 'redelivered_messages_total')).toEqual(given.map(() => 0));
  });

  it('count a shard that is stuck', async () => {
    const { runtime, topic, member } = createFleet();
    const { worker, scrape } = member('a', () => new Promise(() => {}));
    await runtime.advanceUntil(worker.start());
    await runtime.advanceUntil(topic.publish({ key: 'k', id: '1', payload: 1 }));
    const stalls = async () => (await scrape()).get('tenure_shard_stalls_total{group="orders"}');
    expect(await stalls()).toBe(0);
    await runtime.advance(70_000);
    expect(await stalls()).toBe(1);
  });
});

describe('the metrics of a topic', () => {
  it('count what is appended, and what was there already', async () => {
    const { runtime, topic } = createFleet();
    const { metrics, scrape } = scraped({ runtime });
    ended.push(() => metrics.close());
    metrics.observe(topic, { name: 'orders' });
    await runtime.advanceUntil(topic.publishMany(messages(3)));
    await runtime.advanceUntil(topic.publishMany(messages(4)));
    const samples = await runtime.advanceUntil(scrape());
    expect(samples.get('tenure_messages_published_total{group="orders"}')).toBe(4);
    expect(samples.get('tenure_messages_published_duplicates_total{group="orders"}')).toBe(3);
  });

  it('need a name', () => {
    const { runtime, topic } = createFleet();
    const { metrics } = scraped({ runtime });
    ended.push(() => metrics.close());
    expect(() => metrics.observe(topic)).toThrow(/name/);
    expect(() => metrics.observe(topic, { group: 'orders' } as never)).toThrow(/group/);
  });
});

describe('the tracing channel of messages', () => {
  it('tells each attempt, with its error, and no payload', async () => {
    const { runtime, topic, member } = createFleet();
    const told = subscribed({ message: traces.message }, ended);
    let attemptCount = 0;
    const { worker } = member('a', () => {
      attemptCount += 1;
      if (attemptCount === 1) throw new Error('not yet');
      return 'the result';
    });
    await runtime.advanceUntil(worker.start());
    const payload = { text: 'nobody else is to see it' };
    await runtime.advanceUntil(topic.publish({ key: 'k', id: '1', payload }));
    await runtime.advance(5_000);
    expect(told.map(({ what, context: { attempt } }) => [what, attempt])).toEqual([
      ['start', 1],
      ['error', 1],
      ['asyncEnd', 1],
      ['start', 2],
      ['asyncEnd', 2],
    ]);
    const shard = topic.shardOf('k');
    expect(told[0]?.context).toMatchObject({ shard, key: 'k', seq: 1, id: '1' });
    expect(JSON.stringify(told)).not.toMatch(/nobody else|the result/);
  });
});
