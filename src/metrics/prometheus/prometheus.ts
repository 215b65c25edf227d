import type { Metric, Registry, RegistryContentType } from 'prom-client';
import { requireKnown, requireMethods } from '../../errors/checks.js';
import type { Unsubscribe } from '../../events/index.js';
import {
  Metrics,
  type MetricsOptions,
  metricsKeys,
  type Observable,
  type ObserveOptions,
} from '../index.js';
import { loadPackage } from '../optional-package.js';
import { RegistryMetric } from './registry-metric.js';

export interface PrometheusMetricsOptions extends MetricsOptions {
  /** Where the metrics are registered. Default: prom-client's own. */
  readonly register?: Registry<RegistryContentType>;
}

/** Metrics of tenure in a registry of prom-client. */
export interface PrometheusMetrics {
  /**
   * Shows what this object does, from now on; a worker brings its leases and its topic along, elections their leases. What is
   * observed twice is counted once. Observe what connects to a store before it is used, so that its connections are seen.
   *
   * @returns what ends it. Its gauges are gone then; what was counted stays.
   * @throws {OptionError} for what cannot be observed, and for a topic without a `name`.
   */
  observe(source: Observable, options?: ObserveOptions): Unsubscribe;
  /** Ends every observation and takes the metrics out of the registry. Safe to call twice. */
  close(): void;
}

/**
 * Registers every metric of tenure, each with its series as soon as something has them; `docs/metrics.md` lists them. Needs the
 * package `prom-client` (15 or later).
 *
 * ```ts
 * const metrics = prometheusMetrics({ register });
 * metrics.observe(elections);
 * http.createServer(async (_, response) => response.end(await register.metrics()));
 * ```
 *
 * A scrape asks the store for candidates and backlogs, at most every five seconds (`asksStore`). Each question is answered or
 * given up within the time limit of its leases or its topic, by default 5 and 2 seconds; the metric is absent then, and
 * `tenure_store_errors_total{operation="collect"}` tells.
 *
 * @throws {OptionError} for a bad option, and without the package if no `register` was passed. What prom-client throws if they are registered there already: once for each registry.
 */
export function prometheusMetrics(options: PrometheusMetricsOptions = {}): PrometheusMetrics {
  requireKnown('options', options, { ...metricsKeys, register: true });
  const { register = usualRegistry(), ...rest } = options;
  const methods = ['registerMetric', 'removeSingleMetric', 'getSingleMetric'];
  requireMethods('register', register, methods, 'is no registry', 'pass one of prom-client');
  const metrics = new Metrics(rest);
  const registered: RegistryMetric[] = [];
  const close = () => {
    metrics.close();
    // The registry may have been cleared, and hold those of another one by now.
    for (const metric of registered.splice(0))
      if (register.getSingleMetric(metric.name) === asMetric(metric))
        register.removeSingleMetric(metric.name);
  };
  try {
    for (const instrument of Object.values(metrics.instruments)) {
      const metric = new RegistryMetric(instrument, () => metrics.collect());
      register.registerMetric(asMetric(metric));
      registered.push(metric);
    }
  } catch (error) {
    close();
    throw error;
  }
  return { observe: (source, observeOptions) => metrics.observe(source, observeOptions), close };
}

function usualRegistry(): Registry<RegistryContentType> {
  const { register } = loadPackage<typeof import('prom-client')>(
    'prom-client',
    '; or pass `register`',
  );
  return register;
}

/** To a registry a metric is whatever has these methods; the type has them only of its own classes. */
function asMetric(metric: RegistryMetric): Metric {
  return metric as unknown as Metric;
}
