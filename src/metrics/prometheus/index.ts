export {
  type PrometheusMetrics,
  type PrometheusMetricsOptions,
  prometheusMetrics,
} from './prometheus.js';
