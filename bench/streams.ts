import { Redis } from 'ioredis';
import { Leases } from '../src/leases/index.js';
import { redisCoordinator, redisStreams } from '../src/redis.js';
import { shardOf } from '../src/shards/index.js';
import { StreamWorker, Topic } from '../src/streams/index.js';
import type { Finding } from './main.js';
import { compare, rounded } from './measure.js';

const shardCount = 256;
const keyCount = 2_000;
const usualPerKey = 20;
const payload = { text: 'x'.repeat(200 - '{"text":""}'.length) };
const keyOf = (index: number) => `customer-${String(index).padStart(4, '0')}`;

let run = 0;
const errors = { inversions: 0, lost: 0 };

/**
 * Publishes everything, then lets one worker with a no-op handler empty it. Returns messages a second.
 *
 * @param observe is told of the worker before it starts; what it returns ends that.
 * @param perKey so many messages for each key.
 */
export async function handleAll(
  url: string,
  observe: (worker: StreamWorker) => () => void = () => () => {},
  perKey = usualPerKey,
): Promise<number> {
  const messageCount = keyCount * perKey;
  const name = `bench-${run++}`;
  const store = redisStreams(url, { namespace: name, topic: name });
  const topic = new Topic(store);
  for (let seq = 0; seq < perKey; seq++) {
    await topic.publishMany(
      Array.from({ length: keyCount }, (_, index) => ({
        key: keyOf(index),
        id: String(seq),
        payload,
      })),
    );
  }
  const coordinator = redisCoordinator(url, { namespace: name });
  const leases = new Leases(coordinator);
  const seen = new Map<string, number>();
  let handledCount = 0;
  let startedAtMs = 0;
  const worker = new StreamWorker({
    topic,
    leases,
    group: name,
    handler: ({ key, seq }) => {
      if (startedAtMs === 0) startedAtMs = performance.now();
      if (seq !== (seen.get(key) ?? 0) + 1) errors.inversions += 1;
      seen.set(key, seq);
    },
  });
  const finished = new Promise<number>((resolve) => {
    worker.events.on('handled', (event) => {
      handledCount += event.messageCount;
      if (handledCount === messageCount) resolve(performance.now());
    });
  });
  const stopObserving = observe(worker);
  await worker.start();
  const elapsedMs = (await finished) - startedAtMs;
  stopObserving();
  errors.lost += messageCount - [...seen.values()].reduce((sum, seq) => sum + seq, 0);
  await worker.stop();
  await leases.close();
  await coordinator.close();
  await store.close();
  return (messageCount * 1000) / elapsedMs;
}

/** The reference: groups read in one call over 256 streams, 32 a stream, and acknowledged in a pipeline. No fence. */
async function bareLoop(url: string): Promise<number> {
  const client = new Redis(url);
  const prefix = `bare-${run++}:`;
  const streams = Array.from({ length: shardCount }, (_, shard) => `${prefix}${shard}`);
  const text = JSON.stringify(payload);
  const messageCount = keyCount * usualPerKey;
  for (let seq = 1; seq <= usualPerKey; seq++) {
    const pipeline = client.pipeline();
    for (let index = 0; index < keyCount; index++) {
      const key = keyOf(index);
      pipeline.xadd(`${prefix}${shardOf(key)}`, '*', 'k', key, 'q', String(seq), 'p', text);
    }
    await pipeline.exec();
  }
  for (const stream of streams) await client.xgroup('CREATE', stream, 'g', '0');
  const from = streams.map(() => '>');
  const startedAtMs = performance.now();
  for (let handledCount = 0; handledCount < messageCount; ) {
    const reply = (await client.xreadgroup(
      'GROUP',
      'g',
      'c',
      'COUNT',
      32,
      'STREAMS',
      ...streams,
      ...from,
    )) as [string, [string, string[]][]][];
    const pipeline = client.pipeline();
    for (const [stream, entries] of reply) {
      for (const [, fields] of entries) JSON.parse(fields[5] ?? '');
      handledCount += entries.length;
      pipeline.xack(stream, 'g', ...entries.map(([id]) => id));
    }
    await pipeline.exec();
  }
  const elapsedMs = performance.now() - startedAtMs;
  await client.quit();
  return (messageCount * 1000) / elapsedMs;
}

export async function orderedProcessing(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const fresh = (side: (redisUrl: string) => Promise<number>) => async () => {
    await client.flushall('SYNC');
    return side(url);
  };
  const result = await compare(9, fresh(handleAll), fresh(bareLoop));
  await client.quit();
  return [
    {
      what: `ordered processing: no-op handler, ${shardCount} shards, ${keyCount} keys, 200-byte payloads, against a bare loop that reads groups over 256 streams and acknowledges in batches`,
      measured: `${rounded(result.ratio)} of the bare loop (${rounded(result.ours, 0)} to ${rounded(result.reference, 0)} messages a second), ${errors.inversions} inversions, ${errors.lost} lost`,
      wanted: 'at least 0.7, 0 inversions, 0 lost',
      met: result.ratio >= 0.7 && errors.inversions === 0 && errors.lost === 0,
    },
  ];
}

/** Commands that clients sent, as the server counted them; what scripts call inside is not among them. */
async function clientCommandCount(client: Redis): Promise<number> {
  const stats = await client.info('commandstats');
  let count = 0;
  for (const [, command, calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    if (
      /^(evalsha|eval|ping|subscribe|unsubscribe|client|hello|auth|time|script)/.test(command ?? '')
    ) {
      count += Number(calls);
    }
  }
  return count;
}

export async function idleWorker(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const store = redisStreams(url, { namespace: 'idle', topic: 'idle' });
  const coordinator = redisCoordinator(url, { namespace: 'idle' });
  const leases = new Leases(coordinator);
  const topic = new Topic(store);
  const worker = new StreamWorker({ topic, leases, group: 'idle', handler: () => undefined });
  await worker.start();
  const seconds = 60;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const commandsBefore = await clientCommandCount(client);
  const cpuBefore = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const cpu = process.cpuUsage(cpuBefore);
  const commandCount = (await clientCommandCount(client)) - commandsBefore;
  await worker.stop();
  await leases.close();
  await coordinator.close();
  await store.close();
  await client.quit();
  const share = (cpu.user + cpu.system) / (seconds * 1e6);
  return [
    {
      what: `an idle worker of 256 shards at a ttl of 30 s, over ${seconds} s`,
      measured: `${rounded(share * 100)} % of a core, ${rounded(commandCount / seconds)} commands a second`,
      wanted: 'under 1 % and under 3',
      met: share < 0.01 && commandCount / seconds < 3,
    },
  ];
}
