export { catalogue } from './catalogue.js';
export type { Distribution, Labels, Series } from './instruments.js';
export { Counter, Gauge, Histogram } from './instruments.js';
export { Metrics, type MetricsOptions, type Observable, type ObserveOptions } from './metrics.js';
