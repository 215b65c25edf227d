export { catalogue } from './catalogue.js';
export type { Labels } from './instruments.js';
export { Counter, Gauge, Histogram } from './instruments.js';
export {
  Metrics,
  type MetricsOptions,
  metricsKeys,
  type Observable,
  type ObserveOptions,
} from './metrics.js';
