/** The metrics of tenure for Prometheus. Needs the package `prom-client`. */
export type { MetricsOptions, Observable, ObserveOptions } from './metrics/index.js';
export * from './metrics/prometheus/index.js';
