import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { Elections, type LeadContext } from '../../src/elections/index.js';
import { type Lease, Leases } from '../../src/leases/index.js';
import { OutageWarning } from '../../src/leases/outage-warning.js';
import { Schedule } from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { ShardWorker } from '../../src/shards/index.js';
import { StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { RecordingWork } from '../shards/recording-work.js';
import { observe, observers } from './observers.js';

let warn: MockInstance;
let runtime: VirtualRuntime;
let link: FaultLink;
let leases: Leases;
const ended: (() => unknown)[] = [];

beforeEach(() => {
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  runtime = new VirtualRuntime();
  link = new FaultLink();
  link.cut();
  leases = new Leases(memoryCoordinator(new MemoryStore({ runtime }), { runtime, link }), {
    id: 'a',
    runtime,
  });
  ended.push(() => leases.close());
});
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await runtime.advanceUntil(Promise.resolve(end()));
  warn.mockRestore();
});

/** What was warned of, as text and code. */
const warnings = () => warn.mock.calls.map(([text, { code }]) => `${code}: ${text}`);

interface Waiting {
  /** What it is called with in its warning. */
  readonly who: string;
  /** Begins to ask the store, and can be listened to. */
  readonly begin: () => { listen(): unknown; readonly observed: never };
}

const untilStopped = (_lease: Lease, { stopping }: LeadContext) =>
  new Promise((resolve) => stopping.addEventListener('abort', resolve));

function electionOf() {
  const elections = new Elections(leases);
  const election = elections.election('payments');
  const stop = new AbortController();
  const leading = election.lead(untilStopped, { signal: stop.signal });
  ended.push(() => leading);
  ended.push(() => stop.abort());
  return { listen: () => election.events.on('campaignFailed', () => {}), observed: elections };
}

function scheduleOf() {
  const state = new MemoryJobs(new MemoryStore({ runtime }));
  const schedule = new Schedule(memoryJobs(state, { runtime, link }), { id: 'a', runtime });
  schedule.job('books', { cron: '* * * * *' }, () => {});
  ended.push(() => schedule.close());
  schedule.start();
  return { listen: () => schedule.events.on('storeFailed', () => {}), observed: schedule };
}

function shardWorkerOf() {
  const worker = new ShardWorker({ leases, group: 'orders', work: new RecordingWork() });
  worker.start().catch(() => {});
  ended.push(() => worker.stop());
  return { listen: () => worker.events.on('error', () => {}), observed: worker };
}

function streamWorkerOf() {
  const topic = new Topic(memoryStreams(new MemoryStreams({ runtime }), { runtime, link }), {
    runtime,
  });
  const worker = new StreamWorker({ topic, leases, group: 'orders', handler: () => {} });
  worker.start().catch(() => {});
  ended.push(() => worker.stop());
  return { listen: () => worker.events.on('shardsFailed', () => {}), observed: worker };
}

const waiting = [
  { who: 'the election "payments"', begin: electionOf },
  { who: 'the schedule "schedule"', begin: scheduleOf },
  { who: 'the worker of the group "orders"', begin: shardWorkerOf },
  { who: 'the worker of the group "orders"', begin: streamWorkerOf },
] as unknown as readonly Waiting[];

describe.each(waiting)('$who, whose store is not there', ({ who, begin }) => {
  it('says so once after ten seconds, if nobody listens', async () => {
    begin();
    await runtime.advance(9_000);
    expect(warnings()).toEqual([]);
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_STORE_UNREACHED: .* has had no usable answer of its store for 1\d s, and goes on trying: .*Nobody listens to that: use .*\.on\('/,
      ),
    ]);
    expect(warnings()[0]).toContain(who);
  });

  it.each(['a listener', ...observers] as const)('is silent with %s', async (by) => {
    const { listen, observed } = begin();
    if (by === 'a listener') listen();
    else ended.push(observe(by, observed, runtime));
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it('says so as well if the store was there and goes away', async () => {
    link.heal();
    begin();
    await runtime.advance(60_000);
    link.cut();
    await runtime.advance(600_000);
    expect(warnings()).toEqual([expect.stringContaining(who)]);
  });

  it('is silent if the store is there before', async () => {
    begin();
    await runtime.advance(5_000);
    link.heal();
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });
});

describe('a stream worker whose store is not there', () => {
  it('names the event of its own', async () => {
    streamWorkerOf();
    await runtime.advance(60_000);
    expect(warnings()).toEqual([expect.stringContaining("worker.events.on('shardsFailed', ...)")]);
  });

  it('is silent with a listener to its shards', async () => {
    streamWorkerOf().observed.shardEvents.on('error', () => {});
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it('says so when that listener has left', async () => {
    const leave = streamWorkerOf().observed.shardEvents.on('error', () => {});
    await runtime.advance(60_000);
    expect(warnings()).toEqual([]);
    leave();
    await runtime.advance(60_000);
    expect(warnings()).toHaveLength(1);
  });
});

describe('several who ask one store in vain', () => {
  it('tell once', async () => {
    const elections = new Elections(leases);
    const stop = new AbortController();
    const leading = ['a', 'b', 'c'].map((name) =>
      elections.election(name).lead(untilStopped, { signal: stop.signal }),
    );
    ended.push(() => Promise.all(leading));
    ended.push(() => stop.abort());
    await runtime.advance(60_000);
    expect(warnings()).toHaveLength(1);
  });
});

describe('failures far from each other', () => {
  it('are no store that is not reached', async () => {
    const outageWarning = new OutageWarning(leases, {
      who: 'x',
      listen: 'y',
      isHeard: () => false,
    });
    for (let count = 0; count < 20; count += 1) {
      outageWarning.failed(new Error('no answer'), 1_000);
      await runtime.advance(10_000);
    }
    expect(warnings()).toEqual([]);
  });
});

describe('the warning', () => {
  it('has no password in it', async () => {
    const outageWarning = new OutageWarning(leases, {
      who: 'x',
      listen: 'y',
      isHeard: () => false,
    });
    for (let count = 0; count < 20; count += 1) {
      outageWarning.failed(new Error('redis://ann:secret@h does not answer'), 1_000);
      await runtime.advance(1_000);
    }
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).not.toContain('secret');
  });
});
