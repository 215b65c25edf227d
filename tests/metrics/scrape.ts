import { Registry } from 'prom-client';
import { type PrometheusMetricsOptions, prometheusMetrics } from '../../src/prometheus.js';

/** Metrics in a registry of their own, and what a scrape of it says. */
export function scraped(options: PrometheusMetricsOptions = {}) {
  const register = options.register ?? new Registry();
  const metrics = prometheusMetrics({ ...options, register });
  return {
    register,
    metrics,
    /** Each sample by its name with its labels, as the text has them. */
    async scrape(): Promise<Map<string, number>> {
      const lines = (await register.metrics()).split('\n');
      const samples = lines.filter((line) => line !== '' && !line.startsWith('#'));
      return new Map(
        samples.map((line) => {
          const end = line.lastIndexOf(' ');
          return [line.slice(0, end), Number(line.slice(end + 1))];
        }),
      );
    },
  };
}
