import { Random } from '../random.js';
import { type Fault, networkFaultKinds, type Schedule } from './faults.js';

/** Whom faults may befall, and when. */
export interface FaultTargets {
  readonly processes: readonly string[];
  readonly servers: readonly string[];
  /** Faults that only this model of a store knows. */
  readonly storeFaults: readonly string[];
  readonly ttlMs: number;
  /** By how much the wall clock of a server is set at most. */
  readonly largestStepMs: number;
  /** Faults begin from 0 to this, and end by then. */
  readonly untilMs: number;
}

type Kind = Exclude<Fault['kind'], 'store'>;

const kinds: readonly Kind[] = [
  ...(['pause', 'suspend', 'crash', 'step-wall', 'drift'] as const),
  ...networkFaultKinds,
];

/** Crystals differ by less than this share, so that two of them together stay in what leases allow for. */
const greatestDrift = 0.004;

/**
 * The faults of a seed: about half of all kinds, each as often as is drawn, and each kind on each target from a stream of
 * its own.
 */
export function drawSchedule(seed: number, targets: FaultTargets): Schedule {
  const enabled = new Random(seed, 'faults/kinds');
  const faults: Fault[] = [];
  for (const kind of kinds) {
    if (!enabled.chance(0.45)) continue;
    const isNetwork = (networkFaultKinds as readonly string[]).includes(kind);
    const machines = isNetwork ? targets.processes : [...targets.processes, ...targets.servers];
    for (const machine of machines) {
      const random = new Random(seed, `faults/${kind}/${machine}`);
      // A server concerns all, so it is struck less often.
      const often = targets.processes.includes(machine) ? 3 : 1;
      const count = kind === 'drift' ? 1 : random.integer(0, often);
      for (let index = 0; index < count; index++)
        faults.push(drawOne(kind, machine, random, targets));
    }
  }
  for (const what of targets.storeFaults) {
    if (!enabled.chance(0.8)) continue;
    const random = new Random(seed, `faults/store/${what}`);
    const count = random.integer(1, 4);
    for (let index = 0; index < count; index++)
      faults.push({ kind: 'store', what, ...span(random, targets), seed: seedOf(random) });
  }
  return faults.sort((one, other) => one.atMs - other.atMs);
}

const seedOf = (random: Random) => random.integer(0, 2 ** 31);

/** From a moment to longer than a lease, and over in time. */
function span(random: Random, { untilMs, ttlMs }: FaultTargets): { atMs: number; forMs: number } {
  const atMs = Math.round(random.between(0, untilMs));
  const forMs = Math.round(random.magnitude(ttlMs / 50, ttlMs * 3));
  return { atMs, forMs: Math.min(forMs, untilMs - atMs) };
}

function drawOne(kind: Kind, machine: string, random: Random, targets: FaultTargets): Fault {
  const { atMs, forMs } = span(random, targets);
  switch (kind) {
    case 'pause':
    case 'suspend':
    case 'crash':
      return { kind, machine, atMs, forMs };
    case 'step-wall': {
      const isServer = targets.servers.includes(machine);
      const largestMs = isServer ? targets.largestStepMs : 100_000;
      const byMs = Math.round(random.magnitude(10, largestMs));
      return { kind, machine, atMs, byMs: random.chance(0.5) ? byMs : -byMs };
    }
    case 'drift':
      return { kind, machine, atMs: 0, rate: 1 + random.between(-greatestDrift, greatestDrift) };
    default: {
      const direction = random.pick(['request', 'reply', 'both'] as const);
      const share = kind === 'partition' ? 1 : random.pick([0.1, 0.5, 1]);
      return { kind, machine, direction, atMs, forMs, share, seed: seedOf(random) };
    }
  }
}
