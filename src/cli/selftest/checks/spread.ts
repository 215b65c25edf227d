import { defaultShardCount } from '../../../shards/index.js';
import { Topic } from '../../../streams/topic.js';
import type { Bench, Check, Finding } from '../check.js';

const customerCount = 2_000;
/** Twice what a bucket holds on average and a little: chance alone stays well below it. */
const largestFairBucket = 24;

/** All ids have one length, so that a hash which only looks at that is found out. */
const customers = Array.from(
  { length: customerCount },
  (_, index) => `customer-${String(index + 1).padStart(4, '0')}`,
);

export const spread: Check = {
  name: 'spread',
  claim: '2,000 customers are spread over all 256 shards',
  run: measureSpread,
};

async function measureSpread(bench: Bench): Promise<Finding> {
  const topic = new Topic(bench.openStreams());
  const messages = customers.map((key) => ({ key, id: 'first', payload: 'I want a refund' }));
  await topic.publishMany(messages);
  const { count, shards } = await topic.backlog();
  const buckets = shards.map((shard) => shard.count);
  const occupiedCount = buckets.filter((bucket) => bucket > 0).length;
  const largestBucket = Math.max(...buckets);
  const passed =
    count === customerCount &&
    occupiedCount === defaultShardCount &&
    largestBucket <= largestFairBucket;
  return {
    passed,
    isWrong: !passed,
    figures: [
      `${count.toLocaleString('en')} messages counted in the log`,
      `${occupiedCount} of ${defaultShardCount} shards occupied`,
      `largest bucket ${largestBucket.toLocaleString('en')}`,
    ],
  };
}
