/**
 * The deterministic simulator: the real code of leases, elections, shards, streams, jobs and fences, in simulated processes
 * under one virtual time, with every fault that a seed draws. One seed is one run, byte for byte.
 *
 * Where things go:
 *
 * - `world/`: virtual time, clocks, machines that pause, crash and restart. Nothing here knows of tenure.
 * - `network/`: when messages arrive, how often, and whether at all. `SimLink` is the `MemoryLink` that every client of a
 *   state in memory takes; `RemoteFence` is a fence across it.
 * - `models/`: the stores that grant leases, and their ways to break. **A model**: a file with a {@link CoordinatorModel}
 *   (usually a `StoreServer` or several, and a `ModelClient` for each process), and a line in `models/index.ts`. What it does
 *   not promise it says by `stage.excuse`, for as long as that may show.
 * - `scenarios/`: what the processes do. **A scenario**: a file with a {@link Scenario}, and a line in `scenarios/index.ts`.
 *   It makes what the processes share in `prepare` (a `MemoryStreams` on `stage.server('streams').runtime`, say, with
 *   `servers: ['streams']`), and what one incarnation runs in `boot`: everything from `host`, `host.linkTo('streams')` to
 *   reach it. It tells `host.progress` whenever something got done, and may bring checkers of its own.
 * - `checkers/`: what must never happen, or must. **A checker**: a file with a {@link Checker}, and a line in
 *   `checkers/index.ts` (for every run) or in the scenario it belongs to. It listens to the {@link Witness}; what it has to
 *   know and nobody tells is a line in `SimEvents`.
 * - `faults/`: what befalls the machines and messages, as data. **A fault**: its shape in `faults.ts`, how it is drawn in
 *   `draw.ts` (from a stream of random numbers of its own), what it does in `inflict.ts`; one of a store is named by its
 *   model (`faults`), which does it in `inflict`.
 * - `plant.ts`: where a bug can be planted, to see that it is found.
 * - `plan.ts` makes of a seed what is to be played, `run.ts` plays it.
 *
 * Rules: no clock, timer or random number but from `host.runtime`, `host.random` or a `Random` with a name of its own; no
 * order that depends on anything else; what a server does is over before the next event.
 *
 * @module
 */
export type { Bench, Checker, Violation } from './checkers/checker.js';
export { explain, type Failure } from './failure.js';
export type { Fault, Schedule } from './faults/faults.js';
export { parseSchedule } from './faults/parse.js';
export { SimHost } from './host.js';
export { type ManyOptions, type ManyResult, runMany } from './many.js';
export { models } from './models/index.js';
export type { CoordinatorModel, ModelStage, RunningModel } from './models/model.js';
export { type Plan, type PlanOptions, planOf } from './plan.js';
export type { Plant } from './plant.js';
export { Random } from './random.js';
export { type RunOptions, type RunResult, run } from './run.js';
export { scenarios } from './scenarios/index.js';
export type { App, PreparedScenario, Scenario, ScenarioStage } from './scenarios/scenario.js';
export { shrink } from './shrink.js';
export { type SimEvents, Witness } from './witness.js';
