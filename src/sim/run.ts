import { type Known, requireKnown } from '../errors/checks.js';
import { memoryFence } from '../fences/memory/index.js';
import { Bookkeeping } from './bookkeeping.js';
import type { Violation } from './checkers/checker.js';
import { checkers } from './checkers/index.js';
import { inflict } from './faults/inflict.js';
import { Fleet } from './fleet.js';
import type { ModelStage } from './models/model.js';
import { type Plan, resourceId } from './plan.js';
import type { Plant } from './plant.js';
import { Random } from './random.js';
import { Stage } from './stage.js';
import { Trace } from './trace.js';

export interface RunOptions {
  /** Called with each line of the trace, as it is made. */
  readonly onLine?: (line: string) => void;
  /** Whether the result has the hash of the trace. Default `true`; without it a run takes less time. */
  readonly isHashed?: boolean;
  /** A bug that the checkers are to find. */
  readonly plant?: Plant;
}

export interface RunResult {
  readonly plan: Plan;
  /** The first thing that must never happen and did; `undefined` if all is well. */
  readonly violation: Violation | undefined;
  /** SHA-256 of the trace; empty if it was not wanted. */
  readonly hash: string;
  /** What happened how often. */
  readonly coverage: ReadonlyMap<string, number>;
  readonly simulatedMs: number;
  readonly eventCount: number;
  readonly lineCount: number;
}

/** All that is open has to be closed within this, in milliseconds of virtual time. */
const closingMs = 30_000;

const runKeys: Known<RunOptions> = { onLine: true, isHashed: true, plant: true };

const plantKeys: Known<Plant> = {
  ...{ name: true, runtime: true, coordinator: true, serverFence: true, fence: true },
};

/** Plays one plan: the same plan, the same run, byte for byte. @throws {OptionError} if there is no such option. */
export async function run(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const { onLine, isHashed, plant } = requireKnown('options', options, runKeys);
  if (plant !== undefined) requireKnown('plant', plant, plantKeys);
  const trace = new Trace({ onLine, isHashed });
  const stage = new Stage(plan, trace);
  const { world } = stage;
  const book = new Bookkeeping(stage, plan);
  const prepared = plan.scenario.prepare({
    world,
    seed: plan.seed,
    random: new Random(plan.seed, 'scenario'),
    timing: { ttlMs: plan.ttlMs, giveUpAfterMs: plan.giveUpAfterMs },
    processIds: plan.processIds,
    healedAtMs: plan.healedAtMs,
    server: (id) => stage.machine(id),
  });
  const all = [...checkers.map((create) => create()), ...(prepared.checkers ?? [])];
  for (const checker of all) checker.attach(book.bench(checker.name));
  const model = plan.model.start(modelStage(stage, book, plan.ttlMs));
  const fence = memoryFence();
  const serverFence = plant?.serverFence?.(fence) ?? fence;
  const fleet = new Fleet({ stage, plan, model, prepared, serverFence, plant });
  inflict(plan.schedule, {
    world,
    trace,
    network: stage.network,
    model,
    machine: (id) => stage.machine(id),
    crashed: (machine) => fleet.crashed(machine),
    restarted: (machine) => {
      if (plan.processIds.includes(machine.id)) fleet.boot(machine);
      else if (plan.scenario.servers?.includes(machine.id)) prepared.restarted?.(machine.id);
      else if (machine.id !== resourceId) model.restarted(machine);
    },
  });
  const leave = book.listenForRejections();
  try {
    world.at(0, () => fleet.bootAll());
    const isSettled = () => book.goesOn && prepared.isSettled?.() === true;
    await world.run(plan.endsAtMs, () => book.isOver || isSettled());
    if (!book.isOver) {
      prepared.quiesce?.();
      let isClosed = false;
      world.at(world.nowMs, () => {
        void fleet.closeAll().then(() => {
          isClosed = true;
        });
      });
      await world.run(world.nowMs + closingMs, () => isClosed || book.isOver);
      if (!isClosed) book.bench('hygiene').violated(`not closed within ${closingMs} ms`);
      else for (const checker of all) checker.atEnd?.(book.bench(checker.name));
    }
  } finally {
    leave();
  }
  const { violation, coverage } = book;
  if (violation !== undefined) {
    // A line is one, and the same whether or not errors remember their callers.
    const [what = ''] = violation.what.split('\n', 1);
    trace.add(violation.atMs, violation.checker, 'violated', what);
  }
  const { eventCount, nowMs: simulatedMs } = world;
  const hash = trace.digest();
  return { plan, violation, hash, coverage, simulatedMs, eventCount, lineCount: trace.lineCount };
}

function modelStage(stage: Stage, book: Bookkeeping, ttlMs: number): ModelStage {
  const { world, witness } = stage;
  return {
    ttlMs,
    world,
    witness,
    server: (id) => stage.machine(id),
    link: (client, server) => stage.link(client, server),
    random: (component) => new Random(stage.seed, `model/${component}`),
    note: (what, particulars = '') => stage.trace.add(world.nowMs, 'store', what, particulars),
    excuse: (what, forMs) => book.excuse(what, forMs),
  };
}
