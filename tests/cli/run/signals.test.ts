import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Signals } from '../../../src/cli/supervise/signals.js';
import { until } from '../../support/until.js';
import { Scene } from './harness.js';

const timeout = 60_000;

function setUp() {
  const source = new EventEmitter();
  const heard: string[] = [];
  const signals = new Signals(source);
  const hear = (signal: string) => heard.push(signal);
  return { signals, heard, hear, raise: (signal: string) => source.emit(signal, signal), source };
}

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'])(
    'that came while nobody was responsible is for the next who is: %s',
    (signal) => {
      const { signals, heard, hear, raise } = setUp();
      raise(signal);
      expect(signals.isToldToEnd).toBe(true);
      signals.passTo(hear);
      expect(heard).toEqual([signal]);
      signals.keep();
      raise(signal);
      expect(signals.passToWait().reason).toMatchObject({ message: `stopped by ${signal}` });
      signals.passTo(hear);
      expect(heard).toEqual([signal]);
    },
  );

  it('that means nothing without a command is not kept', () => {
    const { signals, heard, hear, raise } = setUp();
    raise('SIGUSR1');
    signals.passTo(hear);
    expect(heard).toEqual([]);
    expect(signals.isToldToEnd).toBe(false);
    raise('SIGUSR1');
    expect(heard).toEqual(['SIGUSR1']);
  });

  it('does not ask us to end if it is a SIGHUP that the command got', () => {
    const { signals, hear, raise } = setUp();
    signals.passTo(hear);
    raise('SIGHUP');
    expect(signals.isToldToEnd).toBe(false);
    raise('SIGTERM');
    expect(signals.isToldToEnd).toBe(true);
  });

  it('has its usual effect again in the end', () => {
    const { signals, source } = setUp();
    signals.stop();
    expect(source.eventNames()).toEqual([]);
  });
});

/** The signal comes right after somebody has begun to listen to it for the nth time; the kernel's would come a little later. */
const impatient = `
let left = Number(process.env.MOMENT);
const { SIGNAL: signal } = process.env;
process.on('newListener', (event) => {
  if (event === signal && left-- === 0) process.nextTick(() => process.emit(signal, signal));
});`;

describe('tenure run that is told to end', { timeout }, () => {
  it.each([
    ['SIGTERM', 143, 'the command is read', 0],
    ['SIGHUP', 129, 'the command is read', 0],
    ['SIGTERM', 143, 'signals are caught for the command, and the store is loaded', 1],
    ['SIGHUP', 129, 'signals are caught for the command, and the store is loaded', 1],
  ])('does not begin the command: %s, %i, when %s', async (signal, status, _when, moment) => {
    const scene = new Scene('SQLite');
    const preload = join(scene.folder, 'impatient.mjs');
    writeFileSync(preload, impatient);
    const env = { NODE_OPTIONS: `--import ${preload}`, SIGNAL: signal, MOMENT: `${moment}` };
    const wrapper = scene.run('a', [], ['echo', 'begun'], env);
    expect(await wrapper.ended).toEqual({ status, signal: null });
    expect(wrapper.stdout).toBe('');
    expect(wrapper.stderr).toContain(`stopped by ${signal}`);
  });

  it('ends at whatever moment of its start that comes', async () => {
    const scene = new Scene('SQLite');
    const outcomes: unknown[] = [];
    for (let afterMs = 25; afterMs <= 700; afterMs += 75) {
      const wrapper = scene.run(`a${afterMs}`, [], ['sleep', '5']);
      const startedMs = performance.now();
      await until('the moment', () => performance.now() - startedMs >= afterMs);
      wrapper.signal('SIGTERM');
      outcomes.push(await wrapper.ended);
    }
    // Before it has begun to catch signals the system ends it, which is as good.
    const asExpected = (outcome: unknown) =>
      ['{"status":143,"signal":null}', '{"status":null,"signal":"SIGTERM"}'].includes(
        JSON.stringify(outcome),
      );
    expect(outcomes.filter((outcome) => !asExpected(outcome))).toEqual([]);
  });

  it('ends during the pause after a loss too', async () => {
    const scene = new Scene('SQLite');
    const wrapper = scene.run('a', ['--restart', 'on-loss'], ['sleep', '60']);
    await wrapper.says(/elected/);
    await scene.tenure('revoke', 'work', '--reason', 'stuck', '--by', 'ana', '--yes');
    await wrapper.says(/campaigning for "work" again in/);
    wrapper.signal('SIGHUP');
    expect(await wrapper.ended).toEqual({ status: 129, signal: null });
  });
});
