import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type ContextManager,
  context as contextApi,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { Elections } from '../../src/elections/index.js';
import { traces } from '../../src/events/index.js';
import { Leases } from '../../src/leases/index.js';
import { catalogue } from '../../src/metrics/index.js';
import { inMessageSpan, otelMetrics, otelSpans } from '../../src/otel.js';
import { StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

type Attributes = Readonly<Record<string, unknown>>;

interface Instrument {
  readonly name: string;
  readonly kind: string;
  readonly unit: string;
  readonly boundaries: readonly number[] | undefined;
}

/** A meter that remembers what was made and recorded, and collects when it is asked. */
class TestMeter {
  readonly instruments: Instrument[] = [];
  readonly records: {
    readonly name: string;
    readonly value: number;
    readonly labels: Attributes;
  }[] = [];
  readonly #callbacks = new Map<string, Set<(result: object) => unknown>>();

  readonly meter = {
    createHistogram: (name: string, options: Parameters<Meter['createHistogram']>[1]) => {
      const boundaries = options?.advice?.explicitBucketBoundaries;
      this.instruments.push({ name, kind: 'histogram', unit: options?.unit ?? '', boundaries });
      return {
        record: (value: number, labels: Attributes) =>
          void this.records.push({ name, value, labels }),
      };
    },
    createObservableGauge: this.#observable('gauge'),
    createObservableCounter: this.#observable('counter'),
  } as unknown as Meter;

  async collect(): Promise<Map<string, number>> {
    const values = new Map<string, number>();
    const callbacks = [...this.#callbacks].flatMap(([name, set]) =>
      [...set].map(async (callback) =>
        callback({
          observe: (value: number, labels: Attributes) =>
            values.set(`${name}${JSON.stringify(labels)}`, value),
        }),
      ),
    );
    await Promise.all(callbacks);
    return values;
  }

  #observable(kind: string) {
    return (name: string, options: { readonly unit: string }) => {
      this.instruments.push({ name, kind, unit: options.unit, boundaries: undefined });
      const callbacks = new Set<(result: object) => unknown>();
      this.#callbacks.set(name, callbacks);
      return {
        addCallback: (callback: (result: object) => unknown) => callbacks.add(callback),
        removeCallback: (callback: (result: object) => unknown) => callbacks.delete(callback),
      };
    };
  }
}

interface TestSpan {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  status: number | undefined;
  isEnded: boolean;
}

function createTracer() {
  const spans: TestSpan[] = [];
  const tracer = {
    startSpan: (name: string, options: { readonly attributes: Attributes }) => {
      const span: TestSpan = {
        name,
        attributes: { ...options.attributes },
        status: undefined,
        isEnded: false,
      };
      spans.push(span);
      return {
        setAttribute: (key: string, value: unknown) => {
          span.attributes[key] = value;
        },
        setAttributes: (more: Attributes) => Object.assign(span.attributes, more),
        setStatus: ({ code }: { code: number }) => {
          span.status = code;
        },
        end: () => {
          span.isEnded = true;
        },
        spanContext: () => ({ spanId: String(spans.indexOf(span)), traceId: 't', traceFlags: 1 }),
      } as unknown as Span;
    },
  } as unknown as Tracer;
  return { tracer, spans };
}

/** What an SDK brings along. */
class TestContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }
  with: ContextManager['with'] = (context, work, self, ...args) =>
    this.#storage.run(context, () => work.call(self as never, ...args));
  bind: ContextManager['bind'] = (_context, target) => target;
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

function createProcess() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const leases = new Leases(memoryCoordinator(store, { runtime }), { id: 'a', runtime });
  ended.push(() => runtime.advanceUntil(leases.close()));
  return { runtime, leases, elections: new Elections(leases) };
}

describe('the instruments of OpenTelemetry', () => {
  it('are those of Prometheus, with units and boundaries', () => {
    const test = new TestMeter();
    const { close } = otelMetrics({ meter: test.meter });
    ended.push(close);
    expect(test.instruments.map(({ name, kind }) => [name, kind])).toEqual(
      Object.values(catalogue).map(({ name, kind }) => [name, kind]),
    );
    for (const { name, unit } of test.instruments)
      expect([name, unit]).toEqual([name, /_seconds(?:_total)?$/.test(name) ? 's' : '1']);
    const histograms = test.instruments.filter(({ kind }) => kind === 'histogram');
    for (const { boundaries } of histograms) expect(boundaries?.length).toBeGreaterThan(5);
  });

  it('tell of a leader what a scrape would, and record each renewal', async () => {
    const { runtime, elections } = createProcess();
    const test = new TestMeter();
    const { observe, close } = otelMetrics({ meter: test.meter, runtime });
    ended.push(close);
    observe(elections);
    const lease = await runtime.advanceUntil(elections.election('payments').campaign());
    await runtime.advance(30_001);
    const values = await runtime.advanceUntil(test.collect());
    expect(values.get('tenure_election_leader{"election":"payments"}')).toBe(1);
    expect(values.get('tenure_election_term{"election":"payments"}')).toBe(lease?.term);
    expect(values.get('tenure_election_terms_total{"election":"payments"}')).toBe(1);
    const renewals = test.records.filter(({ name }) => name === catalogue.renewal.name);
    expect(renewals).toHaveLength(3);
    expect(renewals[0]).toMatchObject({
      value: 0,
      labels: { store: 'memory', outcome: 'answered' },
    });
    close();
    expect((await test.collect()).size).toBe(0);
  });

  it('refuse what is no meter', () => {
    expect(() => otelMetrics({ meter: {} as never })).toThrow(/meter/);
    expect(() => otelSpans({ tracer: {} as never })).toThrow(/tracer/);
    expect(() => otelSpans({ trace: {} } as never)).toThrow(/trace/);
  });
});

describe('the spans', () => {
  it('are of each campaign, term and handoff, and end with them', async () => {
    const { runtime, elections } = createProcess();
    const { tracer, spans } = createTracer();
    const stop = otelSpans({ tracer });
    ended.push(stop);
    const election = elections.election('payments');
    const lease = await runtime.advanceUntil(election.campaign());
    expect(spans.map(({ name, isEnded }) => [name, isEnded])).toEqual([
      ['tenure campaign', true],
      ['tenure term', false],
    ]);
    // Whoever stops listening leaves no span open.
    stop();
    await runtime.advanceUntil(election.handoff('b'));
    await runtime.advance(1);
    expect(spans).toHaveLength(2);
    expect(spans[1]).toMatchObject({
      isEnded: true,
      attributes: {
        'tenure.name': 'payments',
        'tenure.term': lease?.term,
        'tenure.end.reason': 'handed-off',
      },
    });
    expect(traces.term.hasSubscribers).toBe(false);
    expect(traces.message.hasSubscribers).toBe(false);
  });

  it('of messages tell which attempt failed, and no payload; what a handler makes is below them', async () => {
    contextApi.setGlobalContextManager(new TestContextManager());
    ended.push(() => contextApi.disable());
    const { runtime, leases } = createProcess();
    const { tracer, spans } = createTracer();
    ended.push(otelSpans({ tracer }));
    const topic = new Topic(memoryStreams(new MemoryStreams({ runtime })), {
      runtime,
      shardCount: 1,
    });
    const active: (string | undefined)[] = [];
    const worker = new StreamWorker({
      topic,
      leases,
      group: 'orders',
      handler: inMessageSpan(async ({ attempt }) => {
        await undefined;
        active.push(trace.getSpan(contextApi.active())?.spanContext().spanId);
        if (attempt === 1) throw new RangeError('a secret');
      }),
    });
    ended.push(() => runtime.advanceUntil(worker.stop()));
    await runtime.advanceUntil(worker.start());
    await runtime.advanceUntil(topic.publish({ key: 'k', id: '1', payload: 'a secret' }));
    await runtime.advance(5_000);
    const messages = spans.filter(({ name }) => name === 'tenure message');
    expect(messages.map(({ status, isEnded }) => [status, isEnded])).toEqual([
      [2, true],
      [undefined, true],
    ]);
    expect(messages[0]?.attributes).toMatchObject({
      'tenure.message.key': 'k',
      'tenure.message.seq': 1,
      'tenure.message.attempt': 1,
      'error.type': 'RangeError',
    });
    expect(active).toEqual(messages.map((span) => String(spans.indexOf(span))));
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  it('cost a handler nothing where nobody makes any', async () => {
    let context: unknown;
    const handler = inMessageSpan((_message, given) => {
      context = given;
    });
    expect(traces.message.hasSubscribers).toBe(false);
    const given = {} as never;
    await handler({} as never, given);
    expect(context).toBe(given);
  });
});
