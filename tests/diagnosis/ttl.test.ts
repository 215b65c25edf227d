import { describe, expect, it } from 'vitest';
import { tailOf, tooLong } from '../../src/diagnosis/ttl/tail.js';
import { OutcomeUnknownError, StoreMisconfiguredError } from '../../src/errors/index.js';
import { adviseTtl, measureForTtl, plotTtl, recordedSample } from '../../src/index.js';
import { createDesk } from '../cli/session.js';
import { loss, startMs, term } from './facts.js';

const dayMs = 24 * 3_600_000;
const quick = Array.from({ length: 1_000 }, (_, index) => 1 + (index % 10) / 10);
/** An hour with a pause of each length. */
const sample = (pausesMs: readonly number[], roundTripsMs: readonly number[] = quick) => ({
  forMs: 3_600_000,
  roundTripsMs,
  failedCount: 0,
  pausesMs,
});

describe('how many durations are too long', () => {
  it('is their number, with those between the two limits counted by how far they reach', () => {
    const tail = tailOf([10, 20, 30, 40, 1_000, 1_500, 2_000, 3_000]);
    expect(tooLong(tail, 1_000, 1_000)).toBeGreaterThanOrEqual(0.5 + 1 + 1);
    expect(tooLong(tailOf([]), 0, 1)).toBe(0);
  });

  it('goes on beyond the longest, always less', () => {
    const tail = tailOf(Array.from({ length: 200 }, (_, index) => index));
    const beyond = [200, 300, 400, 800].map((fromMs) => tooLong(tail, fromMs, 100));
    expect(beyond.every((one, index) => one > 0 && one < (beyond[index - 1] ?? 200))).toBe(true);
  });
});

describe('the smallest ttl', () => {
  it('outlasts the pauses: one that is never longer than a third of the ttl costs nothing', () => {
    const advice = adviseTtl([sample(Array.from({ length: 50 }, () => 1_000))], {
      onceInMs: 30 * dayMs,
    });
    const of = (ttlMs: number) =>
      advice.rows.find((row) => row.ttlMs === ttlMs)?.lossesPerDay ?? Number.NaN;
    // Fifty an hour, and each is too long for a ttl of 1 s, whose lease is given up after 667 ms.
    expect(of(1_000)).toBeCloseTo(50 * 24, 0);
    // Of one of 2 s about half are: 1,000 ms of the 667 to 1,333 that depend on the moment.
    expect(of(2_000)).toBeGreaterThan(500);
    expect(of(2_000)).toBeLessThan(700);
    expect(advice.ttlMs).toBeGreaterThanOrEqual(3_000);
    expect(advice.ttlMs).toBeLessThanOrEqual(8_000);
  });

  it('grows with what is wanted, and with the pauses', () => {
    const pauses = Array.from({ length: 100 }, (_, index) => 20 + index * 3);
    const ttl = (onceInMs: number, factor = 1) =>
      adviseTtl([sample(pauses.map((ms) => ms * factor))], { onceInMs }).ttlMs ?? Number.NaN;
    expect(ttl(3_600_000)).toBeLessThan(ttl(365 * dayMs));
    expect(ttl(dayMs)).toBeLessThan(ttl(dayMs, 4));
  });

  it('leaves room for slow answers: an attempt has a twelfth of it', () => {
    const slow = quick.map((ms, index) => (index % 4 === 0 ? 200 : ms));
    const { ttlMs = 0, rows } = adviseTtl([sample([], slow)]);
    expect(ttlMs).toBeGreaterThanOrEqual(2_400);
    // A quarter of the attempts is too slow, so three in a row are in one of 64.
    const tight = rows.find((row) => row.ttlMs === 1_000);
    expect(tight?.lossesPerDay).toBeCloseTo((dayMs / 333.3) * (1 / 64), -2);
  });

  it('is none, where no ttl up to two minutes would do', () => {
    const advice = adviseTtl([sample([500_000, 600_000])], { onceInMs: 365 * dayMs });
    expect(advice.ttlMs).toBeUndefined();
    expect(plotTtl(advice)).not.toContain('>ttl ');
  });

  it('says what it costs: nobody leads for the ttl and a little after a crash', () => {
    const { rows } = adviseTtl([sample([], [10, 10, 10])]);
    const row = rows.find(({ ttlMs }) => ttlMs === 6_000);
    expect(row).toMatchObject({ takeoverMs: 5_035, longestTakeoverMs: 6_045, renewEveryMs: 2_000 });
  });

  it('keeps within what the store grants, and refuses what tells nothing', () => {
    const { rows } = adviseTtl([sample([])], { smallestTtlMs: 2_500, largestTtlMs: 10_000 });
    expect(rows[0]?.ttlMs).toBe(2_500);
    expect(rows.at(-1)?.ttlMs).toBe(10_000);
    expect(() => adviseTtl([])).toThrow(/samples/);
    expect(() => adviseTtl([{ ...sample([]), forMs: 0 }])).toThrow(/samples/);
    for (const part of ['roundTripsMs', 'failedCount', 'pausesMs'])
      expect(() => adviseTtl([{ ...sample([]), [part]: undefined }])).toThrow(
        `samples.${part} is n`,
      );
    expect(() => adviseTtl([sample([])], { onceInMs: 0 })).toThrow(/onceInMs/);
  });

  it('counts in what leaders recorded of their losses', () => {
    const history = [term(1, 0, 30), term(2, 36, undefined)];
    const stalled = loss(1, { machine: { ...loss(1).machine, longestStall: { forMs: 5_000 } } });
    const recorded = recordedSample(history, [stalled], startMs + 3_600_000);
    expect(recorded).toMatchObject({ forMs: 3_600_000, pausesMs: [5_000] });
    const alone = adviseTtl([sample([])], { onceInMs: dayMs }).ttlMs ?? 0;
    const both = adviseTtl([sample([]), ...(recorded ? [recorded] : [])], { onceInMs: dayMs });
    expect(both.ttlMs).toBeGreaterThan(alone);
    expect(both.longestPauseMs).toBe(5_000);
    expect(recordedSample(history, [loss(1, { reason: 'revoked' })], startMs)).toBeUndefined();
  });

  it('is drawn as a picture with both curves and the choice', () => {
    const advice = adviseTtl([sample([100, 200, 300])]);
    const svg = plotTtl(advice);
    expect(svg).toMatch(/^<svg xmlns=/);
    expect(svg.match(/<polyline /g)).toHaveLength(2);
    expect(svg).toContain('once in 30 d');
    expect(svg).toContain('>ttl ');
    expect(svg).not.toMatch(/NaN|undefined|Infinity|9999/);
  });

  it('is drawn to scale: well-formed, within its frame, fewer losses and a longer takeover with each ttl', () => {
    const svg = plotTtl(adviseTtl([sample([100, 900, 2_500])]));
    const elements = svg.replace(/^<svg [^<>]*>\n|\n<\/svg>\n$/g, '').split('\n');
    for (const element of elements)
      expect(element).toMatch(
        /^<(?:rect|line|polyline|text)(?: [\w-]+="[^"<>&]*")+(?:\/>|>[^<>&]+<\/text>)$/,
      );
    const [losses = [], takeovers = []] = [...svg.matchAll(/points="([^"]+)"/g)].map(
      ([, points = '']) => points.split(' ').map((point) => point.split(',').map(Number)),
    );
    expect(losses).toHaveLength(takeovers.length);
    for (const [index, [x = 0, y = 0]] of [...losses, ...takeovers].entries()) {
      expect(x >= 80 && x <= 680 && y >= 50 && y <= 360, `${index}: ${x},${y}`).toBe(true);
    }
    const isRising = (values: readonly number[]) =>
      values.every((value, index) => value >= (values[index - 1] ?? value));
    expect(isRising(losses.map(([x = 0]) => x))).toBe(true);
    expect(isRising(losses.map(([, y = 0]) => y))).toBe(true);
    expect(isRising(takeovers.map(([, y = 0]) => -y))).toBe(true);
    const ticks = [...svg.matchAll(/<text x="([\d.]+)" y="378"[^>]*>([^<]+)</g)];
    expect(ticks.map(([, , text]) => text)).toEqual([
      '100 ms',
      '300 ms',
      '1 s',
      '3 s',
      '10 s',
      '30 s',
      '100 s',
    ]);
    expect(isRising(ticks.map(([, x]) => Number(x)))).toBe(true);
  });
});

describe('a measurement', () => {
  it('renews a lease of its own, counts what had no answer as a pause, and leaves nothing behind', async () => {
    const { session, runtime, link, actor } = createDesk();
    const { coordinator } = session;
    const measuring = measureForTtl({ coordinator, runtime, forMs: 10_000 });
    await runtime.advance(2_000);
    link.cut();
    await runtime.advance(3_000);
    link.heal();
    const { forMs, roundTripsMs, failedCount, pausesMs } = await runtime.advanceUntil(measuring);
    expect(forMs).toBeGreaterThanOrEqual(10_000);
    expect(roundTripsMs.length).toBeGreaterThan(100);
    expect(failedCount).toBeGreaterThan(0);
    expect(Math.max(...pausesMs)).toBeGreaterThan(2_900);
    expect(await coordinator.list('tenure/advise', { timeoutMs: 1_000 })).toEqual([]);
    expect(runtime.pendingTimerCount).toBe(0);
    expect(await actor('other').acquire('tenure/advise/0')).toBeGreaterThan(0);
  });

  it('takes another of its names while somebody else measures, and says so if there is none', async () => {
    const { session, runtime, actor } = createDesk();
    const { coordinator } = session;
    for (let number = 0; number < 8; number++)
      await actor('other').acquire(`tenure/advise/${number}`);
    await expect(measureForTtl({ coordinator, runtime, forMs: 1_000 })).rejects.toThrow(/are held/);
  });

  it('sees a stall of the event loop', async () => {
    const { session, runtime } = createDesk();
    const measuring = measureForTtl({ coordinator: session.coordinator, runtime, forMs: 5_000 });
    await runtime.advance(1_000);
    runtime.freeze(700);
    const { pausesMs } = await runtime.advanceUntil(measuring);
    expect(Math.max(...pausesMs)).toBeGreaterThanOrEqual(650);
  });

  it('ends with an error where the store denies it, or somebody ends its lease: that is no silence', async () => {
    const denied = new StoreMisconfiguredError('no right to renew');
    const other = createDesk();
    const denying = other.session.coordinator;
    denying.renew = () => Promise.reject(denied);
    await expect(
      measureForTtl({ coordinator: denying, runtime: other.runtime, forMs: 1_000 }),
    ).rejects.toBe(denied);
    const { session, runtime, actor } = createDesk();
    const { coordinator } = session;
    const measuring = measureForTtl({ coordinator, runtime, forMs: 10_000 });
    // Waited for below: it may be rejected before.
    const rejected = expect(measuring).rejects.toThrow(/"tenure\/advise\/0" .*revoked/);
    await runtime.advance(1_000);
    const act = { by: 'ana', reason: 'a test' };
    await actor('operator').coordinator.revoke('tenure/advise/0', act, { timeoutMs: 1_000 });
    await runtime.advance(1_000);
    await rejected;
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('goes on with another lease where a silence outlasted its own', async () => {
    const { session, runtime, link } = createDesk();
    const { coordinator } = session;
    const measuring = measureForTtl({ coordinator, runtime, forMs: 60_000 });
    await runtime.advance(2_000);
    link.cut();
    await runtime.advance(40_000);
    link.heal();
    const { pausesMs, roundTripsMs } = await runtime.advanceUntil(measuring);
    expect(Math.max(...pausesMs)).toBeGreaterThan(39_000);
    expect(roundTripsMs.length).toBeGreaterThan(100);
    expect(await coordinator.list('tenure/advise', { timeoutMs: 1_000 })).toEqual([]);
  });

  it('takes back an acquisition of which it does not know what became', async () => {
    const { session, runtime, link } = createDesk();
    const { coordinator } = session;
    link.disturb('reply', 'drop', { count: 1 });
    const measuring = measureForTtl({ coordinator, runtime, forMs: 1_000 });
    await expect(runtime.advanceUntil(measuring)).rejects.toThrow(OutcomeUnknownError);
    expect(await coordinator.list('tenure/advise', { timeoutMs: 1_000 })).toEqual([]);
  });

  it('refuses bad options, and those that are misspelt', async () => {
    const { session, runtime } = createDesk();
    const { coordinator } = session;
    const ask = (more: object) => measureForTtl({ coordinator, runtime, forMs: 100, ...more });
    await expect(ask({ evryMs: 10 })).rejects.toThrow(/did you mean everyMs/);
    await expect(ask({ forMs: Number.NaN })).rejects.toThrow(/forMs/);
    await expect(ask({ everyMs: 0 })).rejects.toThrow(/everyMs/);
    await expect(ask({ signal: {} })).rejects.toThrow(/signal/);
    await expect(ask({ coordinator: {} })).rejects.toThrow(/is not a coordinator/);
    expect(() => adviseTtl([sample([])], { onceInms: 1 } as never)).toThrow(/mean onceInMs/);
  });
});
