import { AggregatorRegistry, type OpenMetricsContentType, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { type ElectionOptions, Elections } from '../../src/elections/index.js';
import { MemoryResource, memoryFence } from '../../src/fences/memory/index.js';
import { Leases } from '../../src/leases/index.js';
import { catalogue, type MetricsOptions } from '../../src/metrics/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { scraped } from './scrape.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

/** A process with metrics, all under one virtual clock. */
function createProcess(
  id: string,
  shared: { runtime: VirtualRuntime; store: MemoryStore },
  options: MetricsOptions = {},
) {
  const { runtime, store } = shared;
  const link = new FaultLink();
  const leases = new Leases(memoryCoordinator(store, { runtime, link }), { id, runtime });
  const elections = new Elections(leases);
  const { metrics, register, scrape } = scraped({ runtime, ...options });
  ended.push(() => metrics.close());
  return { leases, elections, link, metrics, register, scrape };
}

function createShared() {
  const runtime = new VirtualRuntime();
  return { runtime, store: new MemoryStore({ runtime }) };
}

describe('the metrics of a process, in a registry of prom-client', () => {
  const led = async (options?: ElectionOptions, shown?: MetricsOptions) => {
    const shared = createShared();
    const process = createProcess('a', shared, shown);
    process.metrics.observe(process.elections);
    const election = process.elections.election('payments', options);
    const lease = await shared.runtime.advanceUntil(election.campaign());
    return { ...shared, ...process, election, lease };
  };

  it('are a scrape with help, type and every series of a leader', async () => {
    const { register, lease, runtime } = await led();
    await runtime.advance(30_001);
    const text = await register.metrics();
    expect(text).toContain('# HELP tenure_election_leader Whether this process leads.\n');
    expect(text).toContain('# TYPE tenure_election_leader gauge\n');
    const lines = text.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'tenure_election_leader{election="payments"} 1',
        `tenure_election_term{election="payments"} ${lease?.term}`,
        'tenure_election_terms_total{election="payments"} 1',
        'tenure_election_campaign_duration_seconds_count{election="payments"} 1',
        'tenure_election_candidates{election="payments",standing="present"} 1',
        'tenure_leases{store="memory",state="held"} 1',
        'tenure_leases{store="memory",state="uncertain"} 0',
        'tenure_lease_acquired_total{store="memory"} 1',
        '# TYPE tenure_lease_renewal_duration_seconds histogram',
        'tenure_lease_renewal_duration_seconds_bucket{store="memory",outcome="answered",le="0.001"} 3',
        'tenure_lease_renewal_duration_seconds_bucket{store="memory",outcome="answered",le="+Inf"} 3',
        'tenure_lease_renewal_duration_seconds_sum{store="memory",outcome="answered"} 0',
        'tenure_lease_renewal_duration_seconds_count{store="memory",outcome="answered"} 3',
        'tenure_lease_remaining_shortest_seconds{store="memory"} 10',
        'tenure_lease_remaining_shortest_ratio{store="memory"} 0.5',
        'tenure_event_loop_stall_seconds 0',
      ]),
    );
    expect(text).not.toMatch(/undefined|NaN|\[object/);
  });

  it('of the processes of a cluster are put together as each is meant: the least ratio, the sum of leases', async () => {
    const { register, runtime } = await led();
    await runtime.advance(30_001);
    const told = await register.getMetricsAsJSON();
    const text = await AggregatorRegistry.aggregate([told, told, told]).metrics();
    expect(text).toContain('tenure_lease_remaining_shortest_ratio{store="memory"} 0.5\n');
    expect(text).toContain('tenure_election_leader{election="payments"} 1\n');
    expect(text).toContain('tenure_leases{store="memory",state="held"} 3\n');
    expect(text).toContain('tenure_lease_acquired_total{store="memory"} 3\n');
  });

  it('name each term that ended with its reason, and have no term left when nobody leads', async () => {
    const { scrape, lease, election, runtime } = await led();
    lease?.supersede();
    const samples = await runtime.advanceUntil(scrape());
    expect(
      samples.get('tenure_election_terms_ended_total{election="payments",reason="superseded"}'),
    ).toBe(1);
    expect(samples.get('tenure_lease_ended_total{store="memory",reason="superseded"}')).toBe(1);
    expect(samples.get('tenure_election_leader{election="payments"}')).toBe(0);
    expect(samples.has('tenure_election_term{election="payments"}')).toBe(false);
    await runtime.advanceUntil(election.campaign());
    expect((await scrape()).get('tenure_election_terms_total{election="payments"}')).toBe(2);
  });

  it('count a renewal without an answer as an error of its kind, and show how near the deadline it came', async () => {
    const { scrape, leases, link, runtime } = await led({}, { asksStore: false });
    link.hang();
    await runtime.advance(10_001 + leases.timing.attemptTimeoutMs);
    const leftMs = 20_000 - 10_001 - leases.timing.attemptTimeoutMs;
    const samples = await scrape();
    expect(samples.get('tenure_store_errors_total{operation="renew",kind="timeout"}')).toBe(1);
    expect(samples.get('tenure_lease_uncertain_total{store="memory",cause="renewal-failed"}')).toBe(
      1,
    );
    expect(samples.get('tenure_lease_remaining_shortest_seconds{store="memory"}')).toBeCloseTo(
      leftMs / 1000,
    );
    expect(samples.get('tenure_lease_remaining_shortest_ratio{store="memory"}')).toBeCloseTo(
      leftMs / 20_000,
    );
  });

  it('keep the smallest remaining time until the next scrape, and for ten seconds, and then forget it', async () => {
    const { scrape, runtime } = await led();
    const remaining = async () =>
      (await runtime.advanceUntil(scrape())).get(
        'tenure_lease_remaining_shortest_seconds{store="memory"}',
      );
    runtime.freeze(17_000);
    await runtime.advance(11_000);
    expect(await remaining()).toBe(3);
    for (let scrapes = 0; scrapes < 3; scrapes++) {
      await runtime.advance(1_000);
      expect(await remaining()).toBe(3);
    }
    await runtime.advance(10_000);
    await remaining();
    await runtime.advance(10_000);
    expect(await remaining()).toBeGreaterThanOrEqual(10);
  });

  it('show 0 for a lease that a freeze has ended, and how long the loop stood still', async () => {
    const { scrape, runtime } = await led();
    await runtime.advance(5_000);
    runtime.freeze(40_000);
    await runtime.advance(200);
    const samples = await runtime.advanceUntil(scrape());
    expect(samples.get('tenure_lease_remaining_shortest_ratio{store="memory"}')).toBe(0);
    expect(samples.get('tenure_event_loop_stall_seconds')).toBeCloseTo(40, 0);
    expect(samples.get('tenure_lease_ended_total{store="memory",reason="expired"}')).toBe(1);
  });

  it('tell once, by the winner, how long nobody led', async () => {
    const shared = createShared();
    const [a, b] = [createProcess('a', shared), createProcess('b', shared)];
    for (const { metrics, elections } of [a, b]) metrics.observe(elections);
    await shared.runtime.advanceUntil(a.elections.election('payments').campaign());
    a.link.hang();
    await shared.runtime.advanceUntil(b.elections.election('payments').campaign());
    await shared.runtime.advance(1_000);
    const sum = 'tenure_election_vacancy_seconds_sum{election="payments"}';
    const count = 'tenure_election_vacancy_seconds_count{election="payments"}';
    const samples = await shared.runtime.advanceUntil(b.scrape());
    expect(samples.get(count)).toBe(1);
    expect(samples.get(sum)).toBeLessThan(1);
    expect((await shared.runtime.advanceUntil(a.scrape())).has(count)).toBe(false);
  });

  it('leave out what only the store knows if it gives no answer, and answer all the same', async () => {
    const { scrape, link, runtime } = await led();
    const candidates = 'tenure_election_candidates{election="payments",standing="present"}';
    expect((await runtime.advanceUntil(scrape())).has(candidates)).toBe(true);
    link.hang();
    await runtime.advance(6_000);
    const samples = await runtime.advanceUntil(scrape());
    expect(samples.has(candidates)).toBe(false);
    expect(samples.get('tenure_election_leader{election="payments"}')).toBe(1);
    expect(samples.get('tenure_store_errors_total{operation="collect",kind="timeout"}')).toBe(1);
  });

  it('ask the store nothing with asksStore: false', async () => {
    const shared = createShared();
    const { elections, leases } = createProcess('a', shared);
    const { metrics, scrape } = scraped({ runtime: shared.runtime, asksStore: false });
    ended.push(() => metrics.close());
    metrics.observe(elections);
    await shared.runtime.advanceUntil(elections.election('payments').campaign());
    const samples = await scrape();
    expect([...samples.keys()].some((name) => name.includes('candidates{'))).toBe(false);
    expect(samples.get('tenure_election_leader{election="payments"}')).toBe(1);
    expect(leases.live).toHaveLength(1);
  });

  it('count what is observed twice once, and nothing any more after its end', async () => {
    const shared = createShared();
    const { leases, elections, metrics, scrape } = createProcess('a', shared);
    const stops = [metrics.observe(leases), metrics.observe(elections), metrics.observe(elections)];
    await leases.acquire('x');
    const acquired = async () =>
      (await scrape()).get('tenure_lease_acquired_total{store="memory"}');
    expect(await acquired()).toBe(1);
    stops[0]?.();
    stops[1]?.();
    await leases.acquire('y');
    expect(await acquired()).toBe(2);
    stops[2]?.();
    await leases.acquire('z');
    expect(await acquired()).toBe(2);
    expect((await scrape()).has('tenure_leases{store="memory",state="held"}')).toBe(false);
  });

  it('give names beyond the limit one series together', async () => {
    const shared = createShared();
    const { elections } = createProcess('a', shared);
    const { metrics, scrape } = scraped({ runtime: shared.runtime, nameLimit: 2 });
    ended.push(() => metrics.close());
    metrics.observe(elections);
    for (const name of ['one', 'two', 'three', 'four'])
      await shared.runtime.advanceUntil(elections.election(name).campaign());
    const samples = await shared.runtime.advanceUntil(scrape());
    const totals = [...samples].filter(([name]) => name.startsWith('tenure_election_terms_total'));
    expect(totals).toEqual([
      ['tenure_election_terms_total{election="one"}', 1],
      ['tenure_election_terms_total{election="two"}', 1],
      ['tenure_election_terms_total{election="other"}', 2],
    ]);
  });

  it('tell one that is called like the series of those beyond the limit from them', async () => {
    const shared = createShared();
    const { elections } = createProcess('a', shared);
    const { metrics, scrape } = scraped({ runtime: shared.runtime, nameLimit: 2 });
    ended.push(() => metrics.close());
    metrics.observe(elections);
    for (const name of ['other', '"other"', 'third'])
      await shared.runtime.advanceUntil(elections.election(name).campaign());
    const samples = await shared.runtime.advanceUntil(scrape());
    const totals = [...samples.keys()].filter((name) =>
      name.startsWith('tenure_election_terms_total'),
    );
    expect(totals).toEqual([
      String.raw`tenure_election_terms_total{election="\"other\""}`,
      String.raw`tenure_election_terms_total{election="\"\"other\"\""}`,
      'tenure_election_terms_total{election="other"}',
    ]);
  });

  it('count what a fence of the process refuses, by resource, and what it had recorded before', async () => {
    const { scrape, lease } = await led();
    if (lease === undefined) throw new Error('not elected');
    const fence = memoryFence(new MemoryResource());
    ended.push(() => fence.close());
    const record = () =>
      fence.transaction(lease, (transaction) => fence.recordOnce(transaction, 'in', 'k', 1, 'id'));
    await record();
    await record();
    const { name, holder, term } = lease;
    await expect(fence.claim({ name, holder, term: term - 1 })).rejects.toThrow();
    const samples = await scrape();
    expect(samples.get('tenure_fence_refusals_total{resource="memory",because="term"}')).toBe(1);
    expect(samples.get('tenure_fence_duplicates_total{resource="memory"}')).toBe(1);
  });

  it('are named alike in OpenMetrics', async () => {
    const register = new Registry<OpenMetricsContentType>();
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const { metrics } = scraped({ register });
    ended.push(() => metrics.close());
    const { elections } = createProcess('a', createShared());
    metrics.observe(elections);
    elections.election('payments');
    const text = await register.metrics();
    expect(text).toContain('# TYPE tenure_election_terms counter\n');
    expect(text).toContain('\ntenure_election_terms_total{election="payments"} 0\n');
    expect(text).not.toContain('_total_total');
  });

  it('leave nothing behind after close: no timer, no metric in the registry', async () => {
    const { register, metrics } = scraped();
    metrics.close();
    metrics.close();
    expect(register.getMetricsAsArray()).toEqual([]);
    expect(() => scraped({ register })).not.toThrow();
    expect(() => scraped({ register })).toThrow(/already been registered/);
    expect(register.getMetricsAsArray()).toHaveLength(Object.keys(catalogue).length);
    register.clear();
  });

  it('take only their own out of a registry that was cleared and filled anew', () => {
    const { register, metrics } = scraped();
    register.clear();
    const next = scraped({ register });
    metrics.close();
    expect(register.getMetricsAsArray()).toHaveLength(Object.keys(catalogue).length);
    next.metrics.close();
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it.each([
    [{ nameLimit: 0 }, 'nameLimit'],
    [{ shardSeriesLimit: -1 }, 'shardSeriesLimit'],
    [{ register: {} }, 'register'],
    [{ prefix: 'x' }, 'prefix'],
  ])('refuse %j', (options, name) => {
    expect(() => scraped({ register: new Registry(), ...(options as object) })).toThrow(name);
  });

  it('refuse to observe what is nothing of tenure', () => {
    const { metrics } = scraped();
    ended.push(() => metrics.close());
    expect(() => metrics.observe({} as never)).toThrow(/cannot be observed/);
  });
});

describe('the names of metrics', () => {
  it.each(Object.values(catalogue))(
    '$name follow the conventions',
    ({ kind, name, help, labels }) => {
      expect(name).toMatch(/^tenure_[a-z]+(?:_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(kind === 'counter');
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(name).not.toMatch(/_(?:ms|milliseconds|percent)$/);
      expect(help).toMatch(/^[A-Z].*\.$/);
      for (const label of labels) expect(label).toMatch(/^[a-z]+$/);
    },
  );

  it('are all different', () => {
    const names = Object.values(catalogue).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
