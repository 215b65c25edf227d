import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { prometheusMetrics } from '../src/prometheus.js';
import type { StreamWorker } from '../src/streams/index.js';
import type { Finding } from './main.js';
import { compare, rounded } from './measure.js';
import { handleAll } from './streams.js';

/** Far more often than anybody scrapes. */
const scrapeEveryMs = 1_000;
/** Work for more than a second, so that it is scraped as often as it says and no more. */
const perKey = 100;
let scrapeCount = 0;

/** Metrics on, and scraped meanwhile. */
function observed(worker: StreamWorker): () => void {
  const register = new Registry();
  const metrics = prometheusMetrics({ register });
  metrics.observe(worker as unknown as StreamWorker<never>);
  const scrape = () => {
    scrapeCount += 1;
    void register.metrics();
  };
  const timer = setInterval(scrape, scrapeEveryMs);
  return () => {
    clearInterval(timer);
    metrics.close();
  };
}

/** What metrics cost a worker whose handler does nothing: the same work with and without them, in turn. */
export async function metricsOverhead(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const fresh = (observe?: (worker: StreamWorker) => () => void) => async () => {
    await client.flushall('SYNC');
    return handleAll(url, observe, perKey);
  };
  const result = await compare(15, fresh(observed), fresh());
  await client.quit();
  return [
    {
      what: 'ordered processing with metrics, scraped every second, against the same without: no-op handler, 256 shards',
      measured: `${rounded((1 - result.ratio) * 100)} % slower (${rounded(result.ours, 0)} to ${rounded(result.reference, 0)} messages a second, medians of 15 rounds in turn; ${scrapeCount} scrapes)`,
      wanted: 'less than 3 %',
      met: result.ratio > 0.97,
    },
  ];
}
