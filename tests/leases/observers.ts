import { logEvents } from '../../src/log.js';
import type { Runtime } from '../../src/time/index.js';
import { scraped } from '../metrics/scrape.js';

/** Who hears of everything without a listener of its own. */
export const observers = ['a logger', 'metrics'] as const;
type Observer = (typeof observers)[number];
type Observed = Parameters<typeof logEvents>[1] &
  Parameters<ReturnType<typeof scraped>['metrics']['observe']>[0];

/** @returns what ends it. */
export function observe(by: Observer, observed: Observed, runtime: Runtime): () => unknown {
  if (by === 'a logger') return logEvents({ info() {}, warn() {}, error() {} }, observed);
  const { metrics } = scraped({ runtime });
  metrics.observe(observed);
  return () => metrics.close();
}
