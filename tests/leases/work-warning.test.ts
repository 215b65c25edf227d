import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { Elections } from '../../src/elections/index.js';
import { UnreachableError } from '../../src/errors/index.js';
import { memoryFence } from '../../src/fences/memory/index.js';
import { LeaseEndedError, LeaseNotHeldError, Leases } from '../../src/leases/index.js';
import { WorkWarning } from '../../src/leases/work-warning.js';
import { type JobOptions, Schedule } from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { ShardWorker } from '../../src/shards/index.js';
import { StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { RecordingWork } from '../shards/recording-work.js';
import { observe, observers } from './observers.js';

let warn: MockInstance;
let runtime: VirtualRuntime;
let leases: Leases;
const ended: (() => unknown)[] = [];

beforeEach(() => {
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  runtime = new VirtualRuntime();
  const coordinator = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
  leases = new Leases(coordinator, { id: 'a', runtime });
  ended.push(() => leases.close());
});
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await runtime.advanceUntil(Promise.resolve(end()));
  warn.mockRestore();
});

/** What was warned of, as code and text. */
const warnings = () => warn.mock.calls.map(([text, { code }]) => `${code}: ${text}`);
const types = () => new Set(warn.mock.calls.map(([, { type }]) => type));

/** As if somebody had mistyped the name of a variable. */
function typo(): never {
  throw new ReferenceError('laese is not defined');
}

function electionOf(work: () => unknown, name = 'payments') {
  const elections = new Elections(leases);
  const election = elections.election(name);
  const stop = new AbortController();
  const leading = election.lead(work, { signal: stop.signal });
  const settled = leading.catch(() => {});
  ended.push(() => settled);
  ended.push(() => stop.abort());
  return { events: election.events, observed: elections, stop, leading };
}

function scheduleOf(work: () => unknown, options: Partial<JobOptions> = {}) {
  const jobs = memoryJobs(new MemoryJobs(new MemoryStore({ runtime })), { runtime });
  const schedule = new Schedule(jobs, { id: 'a', runtime });
  schedule.job('books', { cron: '* * * * *', ...options }, work);
  schedule.job('mails', { cron: '* * * * *' }, () => {});
  ended.push(() => schedule.close());
  schedule.start();
  return { schedule, events: schedule.events, observed: schedule, jobs };
}

function shardWorkerOf(begin: () => Promise<void>) {
  const work = new RecordingWork();
  work.onBegin = begin;
  const worker = new ShardWorker({ leases, group: 'orders', work });
  worker.start().catch(() => {});
  ended.push(() => worker.stop());
  return { events: worker.events, observed: worker };
}

function streamWorkerOf(handler: () => unknown, claim?: () => Promise<never>) {
  const topic = new Topic(memoryStreams(new MemoryStreams({ runtime })), { runtime });
  const own = memoryFence();
  ended.push(() => own.close());
  const fence = claim === undefined ? own : Object.assign(own, { claim });
  const worker = new StreamWorker({ topic, leases, group: 'orders', fence, handler });
  worker.start().catch(() => {});
  ended.push(() => worker.stop());
  const published = topic.publish({ key: 'ann', id: '1', payload: {} });
  ended.push(() => published);
  return { events: worker.events, observed: worker };
}

interface Failing {
  readonly who: string;
  readonly code: string;
  /** Names of events, each of which is enough to hear of it. */
  readonly heardBy: readonly string[];
  readonly begin: () => {
    events: { on(name: string, listener: () => void): void };
    observed: never;
  };
}

const failing = [
  {
    who: 'the work of the election "payments"',
    code: 'TENURE_WORK_FAILED',
    heardBy: ['workFailed'],
    begin: () => electionOf(typo),
  },
  {
    who: 'a run of the job "books"',
    code: 'TENURE_RUN_FAILED',
    heardBy: ['runEnded'],
    begin: () => scheduleOf(typo),
  },
  {
    who: 'a run of the job "books"',
    code: 'TENURE_RUN_FAILED',
    heardBy: ['runFailed', 'runEnded'],
    begin: () => scheduleOf(typo, { retry: { limit: 1_000 } }),
  },
  {
    who: 'the handler of the group "orders"',
    code: 'TENURE_HANDLER_FAILED',
    heardBy: ['handlerFailed'],
    begin: () => streamWorkerOf(typo),
  },
  {
    who: 'the work on shards of the group "orders"',
    code: 'TENURE_WORK_FAILED',
    heardBy: ['error'],
    begin: () => shardWorkerOf(async () => typo()),
  },
] as unknown as readonly Failing[];

describe.each(failing)('$who, which throws', ({ who, code, heardBy, begin }) => {
  it('says so once, with what it threw, where, and what would hear of it', async () => {
    begin();
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /failed, and .*: ReferenceError: laese is not defined, at .*typo \(.*work-warning\.test\.ts:\d+:\d+\)\. Nobody listens to that: use .*\.on\('/,
      ),
    ]);
    expect(warnings()[0]).toMatch(`${code}: ${who} `);
    expect(types()).toEqual(new Set(['TenureWorkWarning']));
    for (const name of heardBy) expect(warnings()[0]).toContain(`on('${name}', ...)`);
  });

  it.each(observers)('is silent with %s', async (by) => {
    ended.push(observe(by, begin().observed, runtime));
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it.each(heardBy)('is silent with a listener of %s', async (name) => {
    begin().events.on(name, () => {});
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });
});

describe('work that returns though nobody told it to stop', () => {
  it('says so once, and what to do', async () => {
    electionOf(() => {});
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_WORK_RETURNED: the work of the election "payments" returned .*await in it .*stopping.*use election\.events\.on\('workReturned', \.\.\.\)/,
      ),
    ]);
  });

  it.each(['a listener', ...observers] as const)('is silent with %s', async (by) => {
    const { events, observed } = electionOf(() => {});
    if (by === 'a listener') events.on('workReturned', () => {});
    else ended.push(observe(by, observed, runtime));
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it('is told beside work that threw before', async () => {
    let count = 0;
    electionOf(() => (count++ === 0 ? typo() : undefined));
    await runtime.advance(600_000);
    expect(warnings().map((text) => text.split(':')[0])).toEqual([
      'TENURE_WORK_FAILED',
      'TENURE_WORK_RETURNED',
    ]);
  });
});

/** Work that heeds nothing. */
const stuck = () => new Promise<never>(() => {});

describe('the work of an election that goes on although it was told to stop', () => {
  const begin = async () => {
    const made = electionOf(stuck);
    await runtime.advance(1_000);
    made.stop.abort();
    return made;
  };

  it('says so once, since when, and that nothing else can be done', async () => {
    await begin();
    await runtime.advance(29_000);
    expect(warnings()).toEqual([]);
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_WORK_OVERDUE: the work of the election "payments" was told to stop 30 s ago, and goes on; .*Nothing stops it but to heed stopping and lease\.signal, or the end of this process\. .*use election\.events\.on\('workOverdue', \.\.\.\)/,
      ),
    ]);
    expect(types()).toEqual(new Set(['TenureWorkWarning']));
  });

  it.each(['a listener', ...observers] as const)('is silent with %s', async (by) => {
    const { events, observed } = await begin();
    if (by === 'a listener') events.on('workOverdue', () => {});
    else ended.push(observe(by, observed, runtime));
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });
});

describe('a run that goes on although it was told to stop', () => {
  const begin = () => scheduleOf(stuck, { timeoutMs: 10_000 });

  it('says so once, a ttl after its time was over', async () => {
    begin();
    await runtime.advance(60_000 + 10_000 + 29_000);
    expect(warnings()).toEqual([]);
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_RUN_OVERDUE: a run of the job "books" was told to stop 30 s ago, and goes on; nothing else of the job begins in this process meanwhile\. Nothing stops it but to heed its signal, or the end of this process\. .*use schedule\.events\.on\('runOverdue', \.\.\.\)/,
      ),
    ]);
  });

  it.each(['a listener', 'a logger'] as const)('is silent with %s', async (by) => {
    const { events, observed } = begin();
    if (by === 'a listener') events.on('runOverdue', () => {});
    else ended.push(observe(by, observed, runtime));
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it('is told for the run alone, and not for the leadership as well', async () => {
    const { schedule } = begin();
    await runtime.advance(61_000);
    await runtime.advanceUntil(schedule.close());
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(/^TENURE_RUN_OVERDUE: /),
      expect.stringContaining('the schedule "schedule" does not take part any more'),
    ]);
  });
});

describe('the work of an election', () => {
  it('is silent about what it throws when it is told to stop', async () => {
    const { stop, leading } = electionOf(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    let fail: (error: Error) => void = () => {};
    await runtime.advance(1_000);
    stop.abort();
    fail(new Error('cut off'));
    await runtime.advanceUntil(leading);
    expect(warnings()).toEqual([]);
  });

  it('is told for each election', async () => {
    electionOf(typo, 'one');
    electionOf(typo, 'two');
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringContaining('"one"'),
      expect.stringContaining('"two"'),
    ]);
  });
});

describe('a job', () => {
  it('whose runs fail for good is told although somebody listens to what is tried again', async () => {
    scheduleOf(typo).events.on('runFailed', () => {});
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(/^TENURE_RUN_FAILED: .* is not tried again/),
    ]);
  });
});

describe('a schedule that cannot lead its jobs', () => {
  const begin = () => {
    const { events, jobs } = scheduleOf(() => {});
    vi.spyOn(jobs, 'look').mockRejectedValue(new Error('relation "tenure_jobs" does not exist'));
    return events;
  };

  it('says so once', async () => {
    begin();
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_WORK_FAILED: the leadership of the schedule "schedule" failed.*does not exist.*use schedule\.events\.on\('leadershipFailed', \.\.\.\)/,
      ),
    ]);
  });

  it('is silent if somebody listens', async () => {
    begin().on('leadershipFailed', () => {});
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });
});

describe('a stream worker', () => {
  it('whose fence cannot be claimed says so once, with the event of its own', async () => {
    const missing = new Error('relation "tenure_fence" does not exist');
    streamWorkerOf(
      () => {},
      () => Promise.reject(missing),
    );
    await runtime.advance(600_000);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^TENURE_WORK_FAILED: .*does not exist.*use worker\.events\.on\('shardsFailed', \.\.\.\)/,
      ),
    ]);
  });

  it('is silent about a fence that is away for a moment', async () => {
    const away = new UnreachableError('the fence is away');
    streamWorkerOf(
      () => {},
      () => Promise.reject(away),
    );
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });

  it('is silent about a handler that begins to write while its lease is uncertain', async () => {
    streamWorkerOf(() => {
      throw new LeaseNotHeldError('orders', 1, 'uncertain', undefined);
    });
    await runtime.advance(600_000);
    expect(warnings()).toEqual([]);
  });
});

describe('the warning', () => {
  const failed = (error: unknown) => {
    const options = { code: 'TENURE_WORK_FAILED', who: 'x', listen: 'y' } as const;
    new WorkWarning(options).failed(error, 'is called again');
    return warnings()[0];
  };

  it('has no password in it', () => {
    expect(failed(new Error('redis://ann:secret@h does not answer'))).not.toContain('secret');
  });

  it('has the place in the code of the user, and none in packages', () => {
    const error = new Error('no such option');
    error.stack = `Error: no such option
    at requireKnown (file:///app/node_modules/tenure/dist/errors/checks.js:1:2)
    at node:internal/process/task_queues:103:5
    at work (file:///app/lead.mjs:12:5)`;
    expect(failed(error)).toContain('no such option, at work (file:///app/lead.mjs:12:5).');
  });

  it.each([
    [
      'a text, which may be a payload',
      'boom',
      'what was thrown is no error, but a value of type string',
    ],
    ['nothing', undefined, 'what was thrown is no error, but a value of type undefined'],
    ['an error of two lines', new RangeError('a\n\x1b[2Jb'), 'RangeError: a [2Jb'],
  ])('tells of %s that was thrown', (_what, thrown, text) => {
    expect(failed(thrown)).toContain(`: ${text}`);
    expect(failed(thrown)).not.toContain('boom');
  });

  it('tells of an error without a text', () => {
    const error = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('none');
      },
    });
    expect(failed(error)).toContain(': what was thrown has no text. Nobody');
  });

  it.each([
    ['the end of its lease', new LeaseEndedError('orders', 1, 'shutdown')],
    ['that its lease is uncertain', new LeaseNotHeldError('orders', 1, 'uncertain', undefined)],
    ['an abort', AbortSignal.abort().reason],
  ])('is none of work that heeds %s, and keeps its one time for a failure', (_what, heeded) => {
    const options = { code: 'TENURE_WORK_FAILED', who: 'x', listen: 'y' } as const;
    const warning = new WorkWarning(options);
    warning.failed(heeded, 'is called again');
    expect(warnings()).toEqual([]);
    warning.failed(new Error('a typo'), 'is called again');
    expect(warnings()).toHaveLength(1);
  });

  it('is no longer than a few lines', () => {
    expect(failed(new Error('x'.repeat(1_000_000)))?.length).toBeLessThan(1_500);
  });
});
