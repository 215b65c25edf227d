import { type Election, Elections } from '../../elections/index.js';
import { StaleTermError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import { sleep } from '../../time/index.js';
import { claimedStateChecker } from '../checkers/claimed-state.js';
import type { SimHost } from '../host.js';
import { type Acts, operate } from './operator.js';
import type { App, Scenario, ScenarioStage } from './scenario.js';

const name = 'sim/leader';

/**
 * One leader counts in a row of the resource: it installs its term, reads the count, and writes the next number behind the
 * fence, again and again. Now and then it resigns, or hands the name to another process, or an operator interferes.
 */
export const election: Scenario = {
  name: 'election',
  prepare: (stage) => ({
    checkers: [claimedStateChecker()],
    boot: (host) => lead(host, stage),
    isSettled: () => true,
  }),
};

function lead(host: SimHost, stage: ScenarioStage): App {
  const { timing, processIds } = stage;
  const { runtime, random } = host;
  const leases = host.leases(timing);
  const elections = new Elections(leases);
  const one = elections.election(name, { firstPauseMs: 100, longestPauseMs: 2_000 });
  // A store that does not answer is no news here, and no warning of this process.
  one.events.on('campaignFailed', () => {});
  one.events.on('workFailed', () => {});
  one.events.on('workOverdue', () => {});
  one.events.on('elected', ({ lease }) => host.note('elected', `term ${lease.term}`));
  const leaving = new AbortController();
  const isLed = one.lead((lease, { stopping }) => count(host, lease, stopping), {
    signal: leaving.signal,
  });
  const moves = moveOn();
  const acts = operate(host, stage, actsOn(one, processIds, host), leaving.signal);
  return {
    close: async () => {
      leaving.abort(new Error('the run is over'));
      await isLed;
      await moves;
      await acts;
      await elections.close();
      await leases.close();
      await host.coordinator.close();
      await host.fence.close();
    },
  };

  async function moveOn(): Promise<void> {
    while (!leaving.signal.aborted) {
      await sleep(runtime, random.between(2_000, 20_000), leaving.signal);
      if (one.current === undefined || leaving.signal.aborted) continue;
      const other = random.pick(processIds);
      if (random.chance(0.5) && other !== host.id) await one.handoff(other);
      else await one.resign();
    }
  }
}

/** What an operator does to the name: the kill switch, its end, and an early end of a term, for somebody or nobody. */
function actsOn(one: Election, processIds: readonly string[], host: SimHost): Acts {
  const by = `operator at ${host.id}`;
  const resume = (reason: string) => one.resume({ by, reason });
  return {
    acts: [
      (reason) => one.suspend({ by, reason }),
      resume,
      (reason) => one.revoke({ by, reason }),
      (reason) => one.revoke({ by, reason, to: processIds[0] ?? host.id }),
    ],
    letGoOn: () => resume('it is over'),
  };
}

async function count(host: SimHost, lease: Lease, stopping: AbortSignal): Promise<void> {
  await host.fence.claim(lease);
  let counted = Number((await host.fence.read('count')) ?? 0);
  while (!stopping.aborted) {
    await sleep(host.runtime, host.random.magnitude(10, 1_000), stopping);
    if (lease.state !== 'held') continue;
    try {
      counted += 1;
      await host.fence.transaction(lease, async (batch) => batch.set('count', counted));
      host.progress('count');
    } catch (error) {
      // Whether it was written is not known: the next one reads what there is.
      if (error instanceof StaleTermError) return;
      counted = Number((await host.fence.read('count')) ?? 0);
    }
  }
}
