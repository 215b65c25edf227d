import { EventEmitter } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commandWriter } from '../../../src/cli/next-command.js';
import { ChildLife } from '../../../src/cli/supervise/child-life.js';
import { kernelTimeOf, leftMs } from '../../../src/cli/supervise/kernel-time.js';
import { ProcessGroup } from '../../../src/cli/supervise/process-group.js';
import type { RunContext } from '../../../src/cli/supervise/run-context.js';
import { Signals } from '../../../src/cli/supervise/signals.js';
import { Voice } from '../../../src/cli/supervise/voice.js';
import { MemoryStore, memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { FaultLink } from '../../../src/drivers/memory/index.js';
import { Elections } from '../../../src/elections/index.js';
import { type Lease, Leases } from '../../../src/leases/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { until } from '../../support/until.js';
import { RecordingTerminal } from '../session.js';

/**
 * Under virtual time, with a real child. The watchdog is played: it confirms when the test says so, and hears of
 * the group.
 */
async function setUp(script: string) {
  const runtime = new VirtualRuntime();
  const link = new FaultLink();
  const coordinator = memoryCoordinator(new MemoryStore({ runtime }), { runtime, link });
  const leases = new Leases(coordinator, { id: 'a', ttlMs: 30_000, runtime });
  const election = new Elections(leases).election('work');
  const terminal = new RecordingTerminal();
  const folder = mkdtempSync(join(tmpdir(), 'tenure-run-'));
  const told: string[] = [];
  const source = new EventEmitter();
  let confirm = () => {};
  let refuse: (error: Error) => void = () => {};
  let group = 0;
  let toKillMs = Number.NaN;
  const context: RunContext = {
    plan: {
      name: 'work',
      command: { words: [`${script}`], isForShell: true },
      waitMs: 0,
      graceMs: 0,
      restartsOnLoss: false,
      onLost: undefined,
    },
    runtime,
    leases,
    election,
    signals: new Signals(source),
    watch: {
      prepare() {},
      guard(id) {
        group = id;
        return new Promise((resolve, reject) => {
          confirm = resolve;
          refuse = reject;
        });
      },
      renewed: () => told.push('renewed'),
      stopping(killAt) {
        told.push('stopping');
        toKillMs = leftMs(killAt, kernelTimeOf(runtime.now()));
      },
      gone: () => told.push('gone'),
    },
    voice: new Voice(terminal, 'run'),
    address: 'memory:',
    write: commandWriter({}),
    environment: { ...process.env, MADE: join(folder, 'made') },
  };
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
    if (group > 0) new ProcessGroup(group).kill();
  });
  const lease = (await runtime.advanceUntil(election.campaign())) as Lease;
  const end = new ChildLife(context, lease).run();
  await until('the child', () => group > 0);
  return {
    runtime,
    link,
    lease,
    end,
    told,
    terminal,
    signal: (signal: NodeJS.Signals) => source.emit(signal, signal),
    confirm: () => confirm(),
    refuse: (error: Error) => refuse(error),
    group: () => group,
    /** How much time it was left when it was told to stop. */
    toKillMs: () => toKillMs,
    hasRun: () => existsSync(join(folder, 'made')),
    async running() {
      await until('the command', () => existsSync(join(folder, 'made')));
    },
    /** Settled in real time, which the child lives in, while virtual time goes on. */
    async endIn(stepMs: number) {
      let isOver = false;
      void end.then(() => {
        isOver = true;
      });
      await until('its end', () => {
        if (!isOver) void runtime.advance(stepMs);
        return isOver;
      });
      return end;
    },
  };
}

const touch = 'touch "$MADE"; exec sleep 60';

describe('the life of a command', () => {
  it('is lost, whoever tells first: the end of a child that its watchdog has stopped is no end of its own', async () => {
    const scene = await setUp(touch);
    scene.confirm();
    await scene.running();
    // No timer has run since, and the watchdog has killed the child in time.
    scene.runtime.freeze(31_000);
    process.kill(-scene.group(), 'SIGKILL');
    expect(await scene.end).toMatchObject({ how: 'lost', reason: 'expired' });
  });

  it('does not begin before the child is watched over', async () => {
    const scene = await setUp(touch);
    await scene.runtime.advance(5_000);
    expect(scene.hasRun()).toBe(false);
    expect(scene.terminal.notes).toEqual([]);
    scene.confirm();
    await scene.running();
    expect(scene.terminal.noteText).toContain(`term ${scene.lease.term}: running as process group`);
    scene.signal('SIGTERM');
    expect(await scene.endIn(10)).toEqual({ how: 'ended', status: 143 });
  });

  it('does not begin while the lease is uncertain', async () => {
    const scene = await setUp(touch);
    scene.link.cut();
    await scene.runtime.advance(13_000);
    expect(scene.lease.state).toBe('uncertain');
    scene.confirm();
    await scene.runtime.advance(100);
    expect(scene.terminal.notes).toEqual([]);
    scene.link.heal();
    await scene.runtime.advance(3_000);
    expect(scene.lease.state).toBe('held');
    await scene.running();
    scene.signal('SIGTERM');
    expect(await scene.endIn(10)).toEqual({ how: 'ended', status: 143 });
  });

  it('never begins if the lease is lost before the child is watched over', async () => {
    const scene = await setUp(touch);
    scene.link.cut();
    await scene.runtime.advance(21_000);
    scene.confirm();
    expect(await scene.endIn(10)).toMatchObject({ how: 'lost', reason: 'unreachable' });
    expect(scene.hasRun()).toBe(false);
  });

  it('never begins if the process stood still for too long right before', async () => {
    const scene = await setUp(touch);
    scene.confirm();
    scene.runtime.freeze(31_000);
    // What hangs on the confirmation comes before any timer.
    await scene.runtime.settle();
    expect(await scene.endIn(10)).toMatchObject({ how: 'lost', reason: 'expired' });
    expect(scene.hasRun()).toBe(false);
  });

  it('never begins if it cannot be watched over, whyever, and gives the name back', async () => {
    const scene = await setUp(touch);
    scene.refuse(new Error('spawn ENOMEM'));
    expect(await scene.endIn(10)).toEqual({ how: 'unwatched', words: 'spawn ENOMEM' });
    expect(scene.hasRun()).toBe(false);
    expect(scene.lease.endReason).toBe('released');
  });

  it('never begins if a signal comes before, and gives the name back', async () => {
    const scene = await setUp(touch);
    scene.signal('SIGHUP');
    scene.confirm();
    expect(await scene.endIn(10)).toEqual({ how: 'interrupted', signal: 'SIGHUP' });
    expect(scene.hasRun()).toBe(false);
    expect(scene.lease.endReason).toBe('released');
  });

  it('leaves the child the time between giving up and the end, and tells the watchdog', async () => {
    const scene = await setUp(`trap "" TERM; ${touch.replace('exec ', '')}; sleep 60`);
    scene.confirm();
    await scene.running();
    // Renewed after 10 s and 20 s: given up after 40 s, and killed after 48.7 s.
    await scene.runtime.advance(25_000);
    scene.link.cut();
    await scene.runtime.advance(15_500);
    expect(scene.terminal.noteText).toContain('the store could not be reached; stopping');
    expect(scene.told).toContain('stopping');
    expect(scene.toKillMs()).toBeGreaterThan(8_500);
    expect(scene.toKillMs()).toBeLessThan(9_300);
    expect(scene.told).not.toContain('gone');
    expect(await scene.endIn(200)).toMatchObject({ how: 'lost', reason: 'unreachable' });
    expect(scene.terminal.noteText).toContain('was killed');
    expect(scene.told.at(-1)).toBe('gone');
  });

  it('tells the watchdog of each renewal', async () => {
    const scene = await setUp(touch);
    scene.confirm();
    await scene.running();
    await scene.runtime.advance(60_000);
    expect(scene.told.filter((word) => word === 'renewed').length).toBeGreaterThanOrEqual(5);
    process.kill(-scene.group(), 'SIGKILL');
    expect(await scene.endIn(10)).toEqual({ how: 'ended', status: 137 });
  });
});
