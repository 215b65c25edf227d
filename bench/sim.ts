import { runMany, scenarios } from '../src/sim/index.js';
import type { Finding } from './main.js';
import { rounded } from './measure.js';

/** Different models, faults and two to four processes each. */
const lastSeed = 40;
/** Played before, since it is the hundreds of seeds of one process that are to be fast. */
const warmUpCount = 2;
const wanted = 200;

/**
 * How much virtual time the simulator plays in a second of processor time, all threads of the process together: other
 * programs on the machine do not count.
 */
export async function simulatedMinutes(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name } of scenarios) {
    for (let count = 0; count < warmUpCount; count++) await played(name);
    const { minutes, seconds, eventCount } = await played(name);
    const perSecond = minutes / seconds;
    findings.push({
      what: `simulated minutes in a second of one core: ${name}, seeds 1 to ${lastSeed}`,
      measured: `${rounded(perSecond, 1)} (${rounded(eventCount / minutes, 0)} events in each, ${rounded((seconds * 1e6) / eventCount, 1)} us an event)`,
      wanted: `at least ${wanted}`,
      met: perSecond >= wanted,
    });
  }
  return findings;
}

async function played(scenario: string) {
  const before = process.cpuUsage();
  const { simulatedMs, eventCount, failed } = await runMany(1, lastSeed, { scenario });
  const { user, system } = process.cpuUsage(before);
  if (failed !== undefined) throw new Error(`seed ${failed.plan.seed} of ${scenario} fails`);
  return { minutes: simulatedMs / 60_000, seconds: (user + system) / 1e6, eventCount };
}
