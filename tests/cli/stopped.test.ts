import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/cli/exit-status.js';
import { heard } from '../../src/cli/heard.js';
import type { OperatorAct } from '../../src/cli/operate/act.js';
import { suspendAct } from '../../src/cli/operate/suspend.js';
import { PendingAct } from '../../src/cli/pending-act.js';
import { UnreachableError } from '../../src/index.js';
import { startTenure } from './command-line.js';
import { begin } from './operate/order.js';
import { createDesk, type Desk } from './session.js';

const act = { by: 'ana@desk', reason: 'INC-12' };

/** A store that takes connections and says nothing. */
let silent: Server;
let url = '';

beforeAll(async () => {
  silent = createServer((socket) => void socket.on('error', () => {}));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  url = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
});
afterAll(() => void silent.close());

/** Runs the command, and stops it when it has turned to the store. */
async function stopped(args: readonly string[], signal: NodeJS.Signals, at = url) {
  const turned = once(silent, 'connection');
  const { process, ended } = startTenure([...args, '--url', at]);
  await turned;
  const from = performance.now();
  process.kill(signal);
  const { status, stderr } = await ended;
  return { status, stderr, tookMs: performance.now() - from };
}

/** Well before a request is given up, which it is after five seconds. */
const promptlyMs = 3_000;
const reason = ['--reason', 'INC-12'];

describe('a command that waits for a store', () => {
  it.each([
    [['who', 'payments'], 'SIGINT', 130],
    [['status'], 'SIGTERM', 143],
    [['history', 'payments'], 'SIGINT', 130],
    [['candidates', 'payments'], 'SIGINT', 130],
    [['diagnose', 'payments'], 'SIGINT', 130],
    [['jobs', 'list'], 'SIGTERM', 143],
    [['once', 'list'], 'SIGINT', 130],
  ] as const)('is ended by one signal: %j by %s', async (args, signal, status) => {
    const end = await stopped(args, signal);
    expect(end).toMatchObject({ status, stderr: expect.stringContaining(`stopped by ${signal}`) });
    expect(end.tookMs).toBeLessThan(promptlyMs);
  });

  it.each([
    [['suspend', 'payments', ...reason, '--yes'], 'SIGINT', 130],
    [['resume', 'payments', ...reason], 'SIGTERM', 143],
    [['jobs', 'run', 'settle', ...reason], 'SIGINT', 130],
    [['once', 'settle', 'mail/1', '--done', ...reason, '--yes'], 'SIGINT', 130],
  ] as const)('says that it has done nothing yet: %j by %s', async (args, signal, status) => {
    const end = await stopped(args, signal);
    expect(end).toMatchObject({ status, stderr: expect.stringContaining('nothing was done') });
    expect(end.tookMs).toBeLessThan(promptlyMs);
  });

  it('says that tables may be there that it was to make', async () => {
    const at = `${url.replace('redis:', 'postgres:')}/app`;
    const end = await stopped(['migrate'], 'SIGINT', at);
    expect(end.status).toBe(130);
    expect(end.stderr.replace(/\s+/g, ' ')).toContain(
      'the migration was asked for, and may have been done next: the same command again',
    );
    expect(end.tookMs).toBeLessThan(promptlyMs);
  });
});

/** Suspends, and is stopped at a moment at which the store is still asked, or its effect awaited; what is told then. */
async function suspendingStopped(
  desk: Desk,
  untilThen: () => Promise<void>,
  operatorAct: OperatorAct = suspendAct('payments', act),
): Promise<unknown> {
  const coordinator = heard(desk.session.coordinator, desk.stopping.signal);
  const operating = begin({ ...desk, session: { ...desk.session, coordinator } }, operatorAct);
  const failing = operating.then(
    () => 'it ended by itself',
    (error: unknown) => desk.session.pending.told(error),
  );
  await untilThen();
  desk.stopping.abort(new InterruptedError('SIGINT'));
  // Time stands still from here on: nothing is waited for any more.
  return await failing;
}

const mayBeDone = {
  status: 130,
  aftermath: {
    words: 'the suspend of payments was asked for, and may have been done',
    next: expect.stringMatching(/^tenure status payments /),
  },
};

describe('an act that is stopped', () => {
  it('may have been done if its answer is still to come', async () => {
    const desk = createDesk();
    desk.link.disturb('reply', 'drop', { operation: 'suspend' });
    const told = suspendingStopped(desk, () => desk.runtime.advance(1_000));
    expect(await told).toMatchObject(mayBeDone);
  });

  it('may have been done if its answer was lost, and the store is not reached any more', async () => {
    const desk = createDesk();
    desk.link.disturb('reply', 'drop', { operation: 'suspend' });
    const told = suspendingStopped(desk, async () => {
      await desk.runtime.advance(1_000);
      desk.link.cut();
      await desk.runtime.advance(9_000);
    });
    expect(await told).toMatchObject(mayBeDone);
  });

  it('was not done if the store was not reached', async () => {
    const desk = createDesk();
    const unreached = () => Promise.reject(new UnreachableError('nothing listens there'));
    const operatorAct = { ...suspendAct('payments', act), perform: unreached };
    const told = suspendingStopped(desk, () => desk.runtime.advance(1_000), operatorAct);
    expect(await told).toMatchObject({ aftermath: { words: 'nothing was done' } });
  });

  it('stands if only its effect is awaited', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const told = suspendingStopped(desk, () => desk.runtime.advance(1_000));
    expect(await told).toMatchObject({
      aftermath: { ...mayBeDone.aftermath, words: 'the suspend of payments stands' },
    });
  });

  it('is not asked for any more', async () => {
    const stopping = new AbortController();
    stopping.abort(new InterruptedError('SIGINT'));
    const asked: string[] = [];
    const asking = new PendingAct(stopping.signal).ask(async () => void asked.push('it'));
    await expect(asking).rejects.toThrow('stopped by SIGINT');
    expect(asked).toEqual([]);
  });
});
