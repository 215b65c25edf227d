import { type Plan, planOf, run, runMany, scenarios } from '../src/sim/index.js';
import type { Finding } from './main.js';
import { rounded } from './measure.js';

/** Different models, faults and two to four processes each. */
const lastSeed = 40;
/** Played before, since it is the hundreds of seeds of one process that are to be fast. */
const warmUpCount = 2;
const longWarmUpCount = 4;
const wanted = 200;

/**
 * How much virtual time the simulator plays in a second of processor time, all threads of the process together: other
 * programs on the machine do not count.
 */
export async function simulatedMinutes(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name } of scenarios)
    findings.push(
      await measured(`${name}, seeds 1 to ${lastSeed}`, warmUpCount, () => seedsOf(name)),
    );
  findings.push(await measured(ordinary, longWarmUpCount, ordinaryDays));
  return findings;
}

async function measured(
  what: string,
  warmUps: number,
  play: () => Promise<Played>,
): Promise<Finding> {
  for (let count = 0; count < warmUps; count++) await play();
  const before = process.cpuUsage();
  const { simulatedMs, eventCount } = await play();
  const { user, system } = process.cpuUsage(before);
  const minutes = simulatedMs / 60_000;
  const tookUs = user + system;
  const perSecond = (minutes / tookUs) * 1e6;
  return {
    what: `simulated minutes in a second of one core: ${what}`,
    measured: `${rounded(perSecond, 1)} (${rounded(eventCount / minutes, 0)} events in each, ${rounded(tookUs / eventCount, 1)} us an event)`,
    wanted: `at least ${wanted}`,
    met: perSecond >= wanted,
  };
}

type Played = Pick<Awaited<ReturnType<typeof run>>, 'simulatedMs' | 'eventCount'>;

async function seedsOf(scenario: string): Promise<Played> {
  const many = await runMany(1, lastSeed, { scenario });
  if (many.failed !== undefined) throw new Error(`seed ${many.failed.plan.seed} fails`);
  return many;
}

const ordinary = 'streams, three processes, 16 shards, nine messages a second, ttl 10 s, no faults';

/** What a fleet does nearly all of its time. */
async function ordinaryDays(): Promise<Played> {
  let simulatedMs = 0;
  let eventCount = 0;
  for (const seed of [1, 2, 3]) {
    const calm = { scenario: 'streams', model: 'linearizable', schedule: [], faultsForMs: 240_000 };
    const plan: Plan = {
      ...planOf(seed, calm),
      ...{ processIds: ['p1', 'p2', 'p3'], ttlMs: 10_000, giveUpAfterMs: 6_600 },
    };
    const played = await run(plan, { isHashed: false });
    if (played.violation !== undefined) throw new Error(`seed ${seed} fails`);
    simulatedMs += played.simulatedMs;
    eventCount += played.eventCount;
  }
  return { simulatedMs, eventCount };
}
