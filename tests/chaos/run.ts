import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FaultProxy } from '../support/proxy.js';
import { freshPostgresDatabase } from '../support/servers/postgres.js';
import { Crew, type Seat } from './crew.js';
import type { Scene } from './faults/fault.js';
import { networkFaults } from './faults/network.js';
import { processFaults } from './faults/processes.js';
import { History, kernelMs } from './history.js';
import { violationsIn } from './judgement.js';
import {
  beliefsIn,
  type DoubleBelief,
  doubleBeliefsIn,
  faultsIn,
  type Met,
  turnedAwayIn,
} from './measures.js';
import { Nemesis } from './nemesis.js';
import { freezeBetweenStatements, type PlacedFreeze } from './placed.js';
import { planOf } from './plan.js';
import { createResource, rowsOf } from './resource.js';
import { electionName, type Stage, type StoreName } from './stage.js';
import { openStage } from './stages/index.js';

export interface ChaosOptions {
  readonly store: StoreName;
  readonly seed: number;
  /** How long faults are played. The run takes longer: start, the last recovery, the end. */
  readonly durationMs: number;
  /** `false`: the control run. The resource takes whatever comes. Default `true`. */
  readonly isFenced?: boolean;
  /** A PostgreSQL server on which the run makes a database of its own: the resource. */
  readonly postgresUrl: string;
  readonly historyFile?: string;
  /** Which kinds of faults. Default: all that the store has. */
  readonly kinds?: readonly string[];
}

export interface ChaosReport {
  readonly store: StoreName;
  readonly seed: number;
  readonly isFenced: boolean;
  /** How long faults were played: less than was wanted if nobody recovered from one. */
  readonly durationMs: number;
  readonly ttlMs: number;
  /** What the rows prove. */
  readonly violations: readonly string[];
  /** Processes that ended by themselves, and what else must not happen. */
  readonly accidents: readonly string[];
  readonly hasRecovered: boolean;
  readonly placed: PlacedFreeze;
  readonly faults: readonly Met[];
  readonly doubleBeliefs: readonly DoubleBelief[];
  readonly acceptedCount: number;
  readonly refusedCount: number;
  readonly unknownCount: number;
  readonly termCount: number;
  readonly healedCount: number;
  readonly impossible: Readonly<Record<string, string>>;
}

const seats = ['a', 'b', 'c'] as const;
const keys = ['k0', 'k1', 'k2', 'k3'] as const;
const name = electionName;
const writeEveryMs = 40;

/** Real processes on a real store, and what a seed has in store for them. The rows of the resource say what came of it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-chaos-'));
  const history = new History(options.historyFile);
  const closers: (() => Promise<void> | void)[] = [
    () => rmSync(folder, { recursive: true }),
    () => history.close(),
  ];
  try {
    const database = await freshPostgresDatabase(options.postgresUrl);
    closers.push(() => database.drop());
    await createResource(database.url, name);
    const namespace = `chaos-${randomBytes(6).toString('hex')}`;
    const stage = await openStage[options.store](namespace);
    closers.push(() => stage.stop());
    const witnessUrl = database.url;
    return await play(options, { stage, namespace, history, folder, witnessUrl, closers });
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

interface Rig {
  readonly stage: Stage;
  readonly namespace: string;
  readonly history: History;
  readonly folder: string;
  readonly witnessUrl: string;
  readonly closers: (() => Promise<void> | void)[];
}

async function play(options: ChaosOptions, rig: Rig): Promise<ChaosReport> {
  const { store, seed, durationMs, isFenced = true } = options;
  const { stage, namespace, history, witnessUrl } = rig;
  const { timing } = stage;
  const { ttlMs } = timing;
  history.note('run', 'begins', { store, seed, durationMs, isFenced, timing });
  const common = { name, keys, namespace, witnessUrl, timing, isFenced, writeEveryMs };
  const crew = new Crew(history, common);
  rig.closers.push(() => crew.end());
  const proxies = new Map<Seat, readonly FaultProxy[]>();
  for (const id of seats) {
    const way = await stage.connect();
    proxies.set(crew.add(id, way.connection, rig.folder), way.proxies);
  }
  const scene: Scene = {
    crew,
    ttlMs,
    async elected(withinMs) {
      return (await history.next(({ event }) => event === 'elected', withinMs)) !== undefined;
    },
    proxiesOf: (seat) => proxies.get(seat) ?? [],
  };
  const everywhere = {
    ...processFaults,
    ...([...proxies.values()].flat().length > 0 && networkFaults),
  };
  const disturbances = { ...everywhere, ...stage.disturbances };
  const nemesis = new Nemesis(history, scene, disturbances);
  const calm = () => stage.calm?.() ?? Promise.resolve(() => {});
  const placed = await freezeBetweenStatements(crew, history, ttlMs, calm);
  const { kinds = Object.keys(disturbances) } = options;
  const plan = planOf({ seed, kinds, companions: Object.keys(everywhere), ttlMs });
  const beganAtMs = kernelMs();
  const hasRecovered = await nemesis.play(plan, durationMs);
  const playedMs = hasRecovered ? durationMs : kernelMs() - beganAtMs;
  await crew.leave();
  const rows = await rowsOf(witnessUrl);
  const wrote = history.all('wrote').map(({ key, seq, term = 0 }) => {
    return { key: String(key), seq: Number(seq), term };
  });
  const violations = violationsIn(rows, wrote);
  history.note('run', 'ends', { violations, hasRecovered });
  return {
    ...{ store, seed, isFenced, durationMs: playedMs, ttlMs, violations, hasRecovered, placed },
    accidents: [...crew.accidents, ...turnedAwayIn(history.lines)],
    faults: faultsIn(history.lines),
    doubleBeliefs: doubleBeliefsIn(beliefsIn(history.lines)),
    acceptedCount: rows.length,
    refusedCount: history.all('refused').length,
    unknownCount: history.all('unknown').length,
    termCount: history.all('elected').length,
    healedCount: history.all('termHealed').length,
    impossible: stage.impossible ?? {},
  };
}
