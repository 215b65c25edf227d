import { type Known, requireKnown } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import { latestGiveUpMs } from '../leases/options.js';
import { drawSchedule } from './faults/draw.js';
import type { Schedule } from './faults/faults.js';
import { models } from './models/index.js';
import type { CoordinatorModel } from './models/model.js';
import { Random } from './random.js';
import { scenarios } from './scenarios/index.js';
import type { Scenario } from './scenarios/scenario.js';

/** What a seed stands for, before anything of it has happened. */
export interface Plan {
  readonly seed: number;
  readonly model: CoordinatorModel;
  readonly scenario: Scenario;
  readonly processIds: readonly string[];
  readonly ttlMs: number;
  readonly giveUpAfterMs: number;
  readonly schedule: Schedule;
  /** All faults are over by then. */
  readonly healedAtMs: number;
  /** Until then, or until the scenario has nothing more to show, everything is left alone; then it is closed. */
  readonly endsAtMs: number;
}

export interface PlanOptions {
  /** Default: drawn. */
  readonly model?: string;
  readonly scenario?: string;
  /** Instead of the one that the seed draws. */
  readonly schedule?: Schedule;
  /** For how long faults befall it, in milliseconds of virtual time. Default 30,000. */
  readonly faultsForMs?: number;
}

export const planKeys: Known<PlanOptions> = {
  ...{ model: true, scenario: true, schedule: true, faultsForMs: true },
};

const ttls = [1_000, 2_000, 3_000, 5_000];

/** @throws {OptionError} if there is no such option, model or scenario. */
export function planOf(seed: number, options: PlanOptions = {}): Plan {
  requireKnown('options', options, planKeys);
  const random = new Random(seed, 'plan');
  const drawnModel = random.pick(models);
  const drawnScenario = random.pick(scenarios);
  const model = named('model', models, options.model) ?? drawnModel;
  const scenario = named('scenario', scenarios, options.scenario) ?? drawnScenario;
  const processIds = Array.from({ length: random.integer(2, 4) }, (_, index) => `p${index + 1}`);
  const ttlMs = random.pick(ttls);
  // Half of all use the margin up, since an error in it shows nowhere else.
  const giveUpAfterMs = random.chance(0.5) ? latestGiveUpMs(ttlMs) : (ttlMs * 2) / 3;
  const healedAtMs = options.faultsForMs ?? 30_000;
  const schedule =
    options.schedule ??
    drawSchedule(seed, {
      processes: processIds,
      servers: [...model.servers, resourceId, ...(scenario.servers ?? [])],
      storeFaults: model.faults,
      ttlMs,
      largestStepMs: Math.min(model.largestStepMs ?? 100_000, scenario.largestStepMs ?? 100_000),
      untilMs: healedAtMs,
    });
  const endsAtMs = healedAtMs + 30_000;
  return {
    ...{ seed, model, scenario, processIds, ttlMs, giveUpAfterMs },
    ...{ schedule, healedAtMs, endsAtMs },
  };
}

/** The server with the fence. */
export const resourceId = 'resource';

function named<Item extends { readonly name: string }>(
  what: string,
  items: readonly Item[],
  name: string | undefined,
): Item | undefined {
  if (name === undefined) return undefined;
  const item = items.find((one) => one.name === name);
  if (item !== undefined) return item;
  const names = items.map((one) => one.name).join(', ');
  throw new OptionError(what, name, `is no ${what} of the simulator`, `use one of ${names}`);
}
