/** Metrics and spans of tenure for OpenTelemetry. Needs the package `@opentelemetry/api`. */
export type { MetricsOptions, Observable, ObserveOptions } from './metrics/index.js';
export * from './metrics/otel/index.js';
