import type { MetricObjectWithValues, MetricType, MetricValueWithName } from 'prom-client';
import { type Counter, type Gauge, Histogram, type Labels } from '../index.js';

type Value = MetricValueWithName<string>;

/**
 * One instrument as a registry of prom-client asks for it. Not one of its own classes: those look their labels up for each value,
 * which a handler that takes microseconds would feel; this hands over what is counted already.
 */
export class RegistryMetric {
  /** A registry that writes OpenMetrics takes the `_total` from that of a counter, and adds it again. */
  name: string;
  readonly type: string;
  readonly #instrument: Counter | Gauge | Histogram;
  readonly #collect: () => Promise<void>;

  constructor(instrument: Counter | Gauge | Histogram, collect: () => Promise<void>) {
    this.name = instrument.definition.name;
    this.type = instrument.definition.kind;
    this.#instrument = instrument;
    this.#collect = collect;
  }

  async get(): Promise<MetricObjectWithValues<Value>> {
    await this.#collect();
    const { name } = this;
    const { definition } = this.#instrument;
    const { help } = definition;
    const type = this.type as unknown as MetricType;
    // How several processes of one program are put together, where one answers for all.
    const aggregator = definition.kind === 'gauge' ? definition.merged : 'sum';
    const object = { name, help, type, aggregator, values: this.#values() };
    return object as unknown as MetricObjectWithValues<Value>;
  }

  /** What is counted belongs to several registries. */
  reset(): void {}

  #values(): Value[] {
    const instrument = this.#instrument;
    if (instrument instanceof Histogram)
      return instrument.series.flatMap((series) => distribution(instrument, series));
    return instrument.series.map(({ labels, value }) => ({ labels, value }));
  }
}

/** As Prometheus has it: each bucket counts what is in those below as well. */
function distribution(
  { definition }: Histogram,
  { labels, value }: Histogram['series'][number],
): Value[] {
  const { name, buckets } = definition;
  const values: Value[] = [];
  let count = 0;
  for (const [index, bound] of [...buckets, '+Inf'].entries()) {
    count += value.counts[index] ?? 0;
    const le = { ...labels, le: bound } as unknown as Labels;
    values.push({ labels: le, value: count, metricName: `${name}_bucket` });
  }
  values.push({ labels, value: value.sum, metricName: `${name}_sum` });
  values.push({ labels, value: value.count, metricName: `${name}_count` });
  return values;
}
