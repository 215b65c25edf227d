import { sleep } from '../../time/index.js';
import type { SimHost } from '../host.js';
import { Random } from '../random.js';
import type { ScenarioStage } from './scenario.js';

/** The last act comes so long before the end of the faults, and so long after it what was stopped is let go on; in milliseconds. */
const lastBeforeMs = 3_000;
const goesOnAfterMs = 3_000;

export interface Acts {
  /** One of them at a time, each as likely as another. */
  readonly acts: readonly ((reason: string) => Promise<unknown>)[];
  /** Lets everything go on that was stopped. */
  readonly letGoOn: () => Promise<unknown>;
}

/** Whether there is an operator in this run: in half of all. */
export function hasOperator(seed: number): boolean {
  return new Random(seed, 'operator').chance(0.5);
}

/** An operator at this process, who does something now and then until `signal` aborts; others do the same elsewhere. */
export async function operate(
  host: SimHost,
  { seed, world, healedAtMs }: ScenarioStage,
  { acts, letGoOn }: Acts,
  signal: AbortSignal,
): Promise<void> {
  if (!hasOperator(seed)) return;
  const { runtime, machine } = host;
  const random = new Random(seed, `operator/${host.id}/${machine.incarnation}`);
  for (let count = 1; !signal.aborted; count += 1) {
    await sleep(runtime, random.between(1_000, 12_000), signal);
    if (signal.aborted) return;
    const isOver = world.nowMs > healedAtMs + goesOnAfterMs;
    if (!isOver && world.nowMs > healedAtMs - lastBeforeMs) continue;
    const act = isOver ? letGoOn : random.pick(acts);
    // Whether it was done nobody knows without an answer: the next act is another one.
    await act(`act ${count}`).catch(() => {});
  }
}
