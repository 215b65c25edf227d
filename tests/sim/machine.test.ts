import { describe, expect, it } from 'vitest';
import { Clock } from '../../src/sim/world/clock.js';
import { Machine } from '../../src/sim/world/machine.js';
import { World } from '../../src/sim/world/world.js';

function scene(rate = 1) {
  const world = new World();
  const clock = new Clock(world, { rate, bootedForMs: 5_000, wallMs: 1_000_000 });
  const machine = new Machine(world, clock, 1, 'p1');
  const heard: string[] = [];
  const hear = (what: string) => () => void heard.push(`${what} at ${Math.round(world.nowMs)}`);
  return { world, clock, machine, heard, hear };
}

describe('A simulated machine', () => {
  it('runs timers that are due after a pause before what has arrived meanwhile', async () => {
    const { world, machine, heard, hear } = scene();
    machine.runtime.setTimer(30, hear('late timer'));
    machine.runtime.setTimer(20, hear('early timer'));
    world.at(5, () => machine.pause());
    world.at(10, () => machine.deliver(hear('reply')));
    world.at(50, () => machine.resume());
    await world.run(100);
    expect(heard).toEqual(['early timer at 50', 'late timer at 50', 'reply at 50']);
  });

  it('lets promises settle between two timers that are due at once', async () => {
    const { world, machine, heard, hear } = scene();
    machine.runtime.setTimer(10, () => void Promise.resolve().then(hear('promise')));
    machine.runtime.setTimer(10, hear('timer'));
    await world.run(100);
    expect(heard).toEqual(['promise at 10', 'timer at 10']);
  });

  it('never runs anything of an incarnation that has crashed', async () => {
    const { world, machine, heard, hear } = scene();
    const { runtime } = machine;
    runtime.setTimer(10, hear('timer'));
    world.at(5, () => machine.crash());
    world.at(6, () => machine.deliver(hear('reply')));
    world.at(7, () => machine.restart());
    world.at(8, () => runtime.setTimer(1, hear('timer of the dead')));
    world.at(9, () => machine.runtime.setTimer(1, hear('timer of the living')));
    await world.run(100);
    expect(heard).toEqual(['timer of the living at 10']);
    expect(machine.pendingTimerCount).toBe(0);
  });

  it('stops its monotonic clock in a suspend, and no other', async () => {
    const { world, clock, machine, heard, hear } = scene();
    const before = clock.now();
    machine.runtime.setTimer(100, hear('timer'));
    world.at(50, () => {
      machine.pause();
      clock.suspend();
    });
    world.at(1_050, () => {
      clock.wake();
      machine.resume();
    });
    await world.run(2_000);
    const after = clock.now();
    expect(heard).toEqual(['timer at 1100']);
    expect(after.monotonicMs - before.monotonicMs).toBeCloseTo(1_000);
    expect(after.uptimeMs - before.uptimeMs).toBeCloseTo(2_000);
    expect(after.wallMs - before.wallMs).toBeCloseTo(2_000);
  });

  it('keeps its timers by its own clock', async () => {
    const { world, machine, heard, hear } = scene(0.5);
    machine.runtime.setTimer(100, hear('timer'));
    await world.run(1_000);
    expect(heard).toEqual(['timer at 200']);
  });

  it('takes timers of more than 2^31 ms', async () => {
    const { world, machine, heard, hear } = scene();
    machine.runtime.setTimer(2 ** 31 + 5, hear('timer'));
    await world.run(2 ** 32);
    expect(heard).toEqual([`timer at ${2 ** 31 + 5}`]);
  });
});
