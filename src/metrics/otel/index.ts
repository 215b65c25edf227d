export { type OtelMetrics, type OtelMetricsOptions, otelMetrics } from './otel-metrics.js';
export { inMessageSpan, type OtelSpansOptions, otelSpans } from './otel-spans.js';
