import type { Meter, ObservableResult } from '@opentelemetry/api';
import { requireKnown, requireMethods } from '../../errors/checks.js';
import type { Unsubscribe } from '../../events/index.js';
import {
  Histogram,
  Metrics,
  type MetricsOptions,
  metricsKeys,
  type Observable,
  type ObserveOptions,
} from '../index.js';
import { loadApi } from './api.js';

export interface OtelMetricsOptions extends MetricsOptions {
  /** Where the instruments are made. Default: the meter `tenure` of the global provider. */
  readonly meter?: Meter;
}

/** Metrics of tenure as instruments of OpenTelemetry. */
export interface OtelMetrics {
  /** As `observe` of `tenure/prometheus`. @throws {OptionError} */
  observe(source: Observable, options?: ObserveOptions): Unsubscribe;
  /** Ends every observation; the instruments tell nothing any more. Safe to call twice. */
  close(): void;
}

/**
 * Makes every metric of tenure an instrument, with the same names and labels as for Prometheus (`docs/metrics.md`), the unit
 * `s` where the name ends in `_seconds`. Needs the package `@opentelemetry/api` and, for anything to be collected, an SDK that
 * you set up. Register the SDK first: the global meter is taken at this call.
 *
 * @throws {OptionError} for a bad option, and without the package if no `meter` was passed.
 */
export function otelMetrics(options: OtelMetricsOptions = {}): OtelMetrics {
  const known = { ...metricsKeys, meter: true } as const;
  requireKnown('options', options, known);
  const { meter = loadApi().metrics.getMeter('tenure'), ...rest } = options;
  const methods = ['createHistogram', 'createObservableGauge', 'createObservableCounter'];
  requireMethods('meter', meter, methods, 'is no meter', 'pass one of @opentelemetry/api');
  const metrics = new Metrics(rest);
  const undo: Unsubscribe[] = [() => metrics.close()];
  for (const instrument of Object.values(metrics.instruments)) {
    const { name, help } = instrument.definition;
    const described = { description: help, unit: unitOf(name) };
    if (instrument instanceof Histogram) {
      const advice = { explicitBucketBoundaries: [...instrument.definition.buckets] };
      const told = meter.createHistogram(name, { ...described, advice });
      instrument.forward = (labels, value) => told.record(value, labels);
      continue;
    }
    const isCounter = instrument.definition.kind === 'counter';
    const observable = isCounter
      ? meter.createObservableCounter(name, described)
      : meter.createObservableGauge(name, described);
    const observe = async (result: ObservableResult) => {
      await metrics.collect();
      for (const { labels, value } of instrument.series) result.observe(value, labels);
    };
    observable.addCallback(observe);
    undo.push(() => observable.removeCallback(observe));
  }
  return {
    observe: (source, observeOptions) => metrics.observe(source, observeOptions),
    close: () => {
      for (const one of undo.splice(0)) one();
    },
  };
}

function unitOf(name: string): string {
  return /_seconds(?:_total)?$/.test(name) ? 's' : '1';
}
