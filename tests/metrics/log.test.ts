import { afterEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { Elections } from '../../src/elections/index.js';
import { StoreRefusedError } from '../../src/errors/index.js';
import { MemoryResource, memoryFence } from '../../src/fences/memory/index.js';
import { Leases } from '../../src/leases/index.js';
import { type EventLogger, eventCatalogue, logEvents } from '../../src/log.js';
import { loggedError } from '../../src/metrics/log/event-log.js';
import { NotAppliedError, Once } from '../../src/once/index.js';
import { MemoryKeys, memoryOnce } from '../../src/once/memory/index.js';
import { StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

interface Line {
  readonly level: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger in the manner of pino, and what it was told. */
function createLogger() {
  const lines: Line[] = [];
  const at = (level: string) => (object: object, message: string) =>
    void lines.push({ level, object: object as Line['object'], message });
  const logger: EventLogger = { info: at('info'), warn: at('warn'), error: at('error') };
  const names = () => lines.map(({ object }) => object.event);
  return { logger, lines, names };
}

function createProcess() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const link = new FaultLink();
  const leases = new Leases(memoryCoordinator(store, { runtime, link }), { id: 'a', runtime });
  ended.push(() => runtime.advanceUntil(leases.close()));
  return { runtime, store, link, leases, elections: new Elections(leases) };
}

/** Each line is as the table says: the event, its level, its text, and just its fields. */
function expectAsDeclared(lines: readonly Line[]): void {
  for (const { level, object, message } of lines) {
    const { event, ...fields } = object;
    const declared = eventCatalogue[event as keyof typeof eventCatalogue];
    expect({ level, message, fields: Object.keys(fields).sort() }).toEqual({
      level: declared.level,
      message: declared.message,
      fields: [...declared.fields].sort(),
    });
  }
}

describe('the log of a leader', () => {
  it('has a line for each event of its elections and leases, as the table declares it', async () => {
    const { runtime, link, leases, elections } = createProcess();
    const { logger, lines, names } = createLogger();
    const stop = logEvents(logger, leases, elections);
    const election = elections.election('payments');
    const lease = await runtime.advanceUntil(election.campaign());
    link.hang();
    await runtime.advance(30_000);
    expect(names().slice(0, 3)).toEqual(['lease.acquired', 'election.elected', 'lease.uncertain']);
    expect(names()).toEqual(
      expect.arrayContaining(['lease.renewal-failed', 'lease.lost', 'election.lost']),
    );
    expectAsDeclared(lines);
    const { name, term } = lease ?? {};
    const lost = lines.find(({ object }) => object.event === 'election.lost');
    expect(lost).toMatchObject({ level: 'warn', object: { name, term, reason: 'unreachable' } });
    const failed = lines.find(({ object }) => object.event === 'lease.renewal-failed');
    expect(failed?.object.error).toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
    const lineCount = lines.length;
    stop();
    elections.election('another');
    await runtime.advanceUntil(leases.acquire('x', { waitMs: 1_000 }).catch(() => undefined));
    expect(lines).toHaveLength(lineCount);
  });

  it('names who threw, without what the work said', async () => {
    const { runtime, elections } = createProcess();
    const { logger, lines } = createLogger();
    ended.push(logEvents(logger, elections));
    const aborter = new AbortController();
    const leading = elections.election('payments').lead(
      () => {
        throw new RangeError('card 4111 1111 1111 1111 was declined');
      },
      { signal: aborter.signal },
    );
    await runtime.advance(10);
    aborter.abort();
    await runtime.advanceUntil(leading);
    const failed = lines.find(({ object }) => object.event === 'election.work-failed');
    expect(failed).toMatchObject({ level: 'error', object: { error: { name: 'RangeError' } } });
    expect(JSON.stringify(lines)).not.toContain('4111');
  });

  it('never has a nonce', async () => {
    const { runtime, leases, elections } = createProcess();
    const { logger, lines } = createLogger();
    ended.push(logEvents(logger, leases, elections));
    await runtime.advanceUntil(elections.election('payments').campaign());
    await runtime.advanceUntil(elections.election('payments').handoff('b'));
    expect(lines.length).toBeGreaterThan(3);
    expect(JSON.stringify(lines)).not.toContain(leases.holder.wire.slice('a:'.length));
  });

  it('is told whom a fence of the process refused, and what was there already', async () => {
    const { runtime, leases } = createProcess();
    const { logger, lines } = createLogger();
    ended.push(logEvents(logger));
    const lease = await runtime.advanceUntil(leases.acquire('payments'));
    if (lease === undefined) throw new Error('not granted');
    const fence = memoryFence(new MemoryResource());
    const record = () =>
      fence.transaction(lease, (transaction) => fence.recordOnce(transaction, 'in', 'k', 1, 'id'));
    await record();
    await record();
    const { name, term, holder } = lease;
    await expect(fence.claim({ name, holder, term: term - 1 })).rejects.toThrow();
    expectAsDeclared(lines);
    expect(lines.map(({ object }) => object)).toEqual([
      { event: 'fence.repeated', resource: 'memory', scope: 'in', key: 'k', seq: 1 },
      { event: 'fence.refused', resource: 'memory', name, term: term - 1, installedTerm: term },
    ]);
  });
});

describe('the log of a worker', () => {
  it('has its shards and its failing messages, by key and number, and no payload', async () => {
    const { runtime, leases } = createProcess();
    const { logger, lines, names } = createLogger();
    const topic = new Topic(memoryStreams(new MemoryStreams({ runtime })), {
      runtime,
      shardCount: 2,
    });
    let attemptCount = 0;
    const worker = new StreamWorker({
      topic,
      leases,
      group: 'orders',
      handler: ({ payload }) => {
        attemptCount += 1;
        if (attemptCount === 1) throw new Error(`cannot book ${JSON.stringify(payload)}`);
      },
    });
    ended.push(() => runtime.advanceUntil(worker.stop()));
    ended.push(logEvents(logger, worker));
    await runtime.advanceUntil(worker.start());
    await runtime.advanceUntil(topic.publish({ key: 'k', id: '1', payload: 'a secret' }));
    await runtime.advance(5_000);
    await runtime.advanceUntil(worker.stop());
    expectAsDeclared(lines);
    expect(names()).toEqual(
      expect.arrayContaining([
        'shard.claimed',
        'shard.member-state',
        'message.failed',
        'shard.released',
      ]),
    );
    const failed = lines.find(({ object }) => object.event === 'message.failed');
    expect(failed?.object).toMatchObject({
      group: 'orders',
      key: 'k',
      seq: 1,
      id: '1',
      attempt: 1,
    });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });
});

describe('the log of effects', () => {
  it('has those whose outcome is not known, without what they threw', async () => {
    const runtime = new VirtualRuntime();
    const once = new Once(memoryOnce(new MemoryKeys({ runtime })), { runtime, id: 'a' });
    const { logger, lines, names } = createLogger();
    ended.push(logEvents(logger, once));
    const failing = once.do('charge/1', () => {
      throw new Error('token abc');
    });
    await expect(runtime.advanceUntil(failing)).rejects.toThrow();
    const refused = once.do('charge/2', () => {
      throw new NotAppliedError('no money');
    });
    await expect(runtime.advanceUntil(refused)).rejects.toThrow();
    expect(names()).toEqual(['effect.unknown']);
    expectAsDeclared(lines);
    expect(JSON.stringify(lines)).not.toContain('abc');
  });
});

const warningOf = (event: string) =>
  `TenureListenerWarning: a listener for "${event}" failed: Error: the disk is full`;

describe('a logger', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('the disk is full');
      },
    ],
    ['is async and rejects', () => Promise.reject(new Error('the disk is full'))],
  ])('that %s harms nobody, not even where a fence refuses', async (_how, broken) => {
    const { runtime, elections, leases, link } = createProcess();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    ended.push(() => process.off('warning', onWarning));
    ended.push(logEvents({ info: broken, warn: broken, error: broken }, elections, leases));
    const lease = await runtime.advanceUntil(elections.election('payments').campaign());
    expect(lease?.state).toBe('held');
    const fence = memoryFence(new MemoryResource());
    const token = { name: 'x', holder: leases.holder, term: 2 };
    await fence.claim(token);
    await expect(fence.claim({ ...token, term: 1 })).rejects.toMatchObject({
      code: 'TENURE_STALE_TERM',
    });
    link.cut();
    await runtime.advance(15_000);
    await new Promise((resolve) => setImmediate(resolve));
    // Once of each event, although renewals failed many times.
    expect(warnings.map(({ name, message }) => `${name}: ${message.split(', at ')[0]}`)).toEqual(
      ['lease.acquired', 'election.elected', 'fence.refused', 'lease.uncertain']
        .concat('lease.renewal-failed')
        .map(warningOf),
    );
  });

  it('has to be one', () => {
    expect(() => logEvents({ info: () => {} } as never)).toThrow(/logger/);
    expect(() => logEvents(console as never, {} as never)).toThrow(/tells no events/);
  });
});

describe('an error in the log', () => {
  it('has its message if it is one of ours, and else only its name and code', () => {
    const own = new StoreRefusedError('OOM', 'the store is full');
    expect(loggedError(own)).toEqual({
      name: 'StoreRefusedError',
      code: 'TENURE_STORE_REFUSED',
      message: 'the store is full',
    });
    const foreign = Object.assign(new Error('payload'), { code: 'ECONNREFUSED' });
    expect(loggedError(foreign)).toEqual({ name: 'Error', code: 'ECONNREFUSED' });
    expect(loggedError('payload')).toEqual({ name: 'string' });
  });
});
