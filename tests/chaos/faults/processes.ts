import { setTimeout as sleep } from 'node:timers/promises';
import { type Disturbance, targetsOf } from './fault.js';

/** What happens to holders themselves. */
export const processFaults = {
  /** SIGKILL; a process with the same id follows when it is over. */
  async kill(scene, step) {
    const targets = targetsOf(scene, step);
    await Promise.all(targets.map((seat) => scene.crew.kill(seat)));
    return async () => {
      for (const seat of targets) scene.crew.start(seat);
    };
  },
  /** SIGSTOP, and SIGCONT when it is over: of a leader that is stopped for longer than a ttl, when it has a successor. */
  async freeze(scene, step) {
    const { crew, ttlMs } = scene;
    const leader = crew.leader();
    const targets = targetsOf(scene, step);
    const isReplaced = step.lastsTtls > 1 && targets.length === 1 && targets[0] === leader;
    const successor = isReplaced ? scene.elected(4 * ttlMs) : undefined;
    for (const seat of targets) crew.freeze(seat);
    return async () => {
      // Time to claim the name.
      if (await successor) await sleep(ttlMs / 10);
      for (const seat of targets) scene.crew.thaw(seat);
    };
  },
  /** The wall clocks of processes are set, by up to an hour, and back when it is over. */
  async 'holder clock'(scene, step) {
    const targets = targetsOf(scene, step);
    const stepMs = clockStepMs(step.amount);
    for (const { clock } of targets) clock.step(stepMs);
    return async () => {
      for (const { clock } of targets) clock.step(-stepMs);
    };
  },
} satisfies Record<string, Disturbance>;

const longestClockStepMs = 3_600_000;

/** From a fraction of a second to an hour, forward or back; small ones are as likely as large ones. */
export function clockStepMs(amount: number): number {
  return Math.round(Math.sign(amount) * 100 * (longestClockStepMs / 100) ** Math.abs(amount));
}
