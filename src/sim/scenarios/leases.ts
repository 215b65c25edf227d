import { StaleTermError } from '../../errors/index.js';
import type { Lease, Leases } from '../../leases/index.js';
import { sleep } from '../../time/index.js';
import type { SimHost } from '../host.js';
import type { App, Scenario, ScenarioStage } from './scenario.js';

const names = ['sim/a', 'sim/b', 'sim/c'];

/**
 * Processes want a few names, one or several at once, wait for them or not, write for them behind the fence, and give them
 * back, hand them over, or keep them until they are lost.
 */
export const leases: Scenario = {
  name: 'leases',
  prepare: (stage) => ({ boot: (host) => contend(host, stage), isSettled: () => true }),
};

function contend(host: SimHost, { timing, processIds }: ScenarioStage): App {
  const { runtime, random } = host;
  const owned = host.leases(timing);
  const leaving = new AbortController();
  const others = processIds.filter((id) => id !== host.id);
  const running = [once(), once()];
  return {
    close: async () => {
      leaving.abort(new Error('the run is over'));
      await Promise.all(running);
      await owned.close();
      await host.coordinator.close();
      await host.fence.close();
    },
  };

  async function once(): Promise<void> {
    while (!leaving.signal.aborted) {
      await sleep(runtime, random.magnitude(50, 3_000), leaving.signal);
      try {
        for (const lease of await some(owned, random.chance(0.3))) await use(lease);
      } catch {
        // The store gave no answer, or the run is over: what may have been granted is taken back by the leases themselves.
      }
    }
  }

  async function some(from: Leases, isMany: boolean): Promise<Lease[]> {
    if (isMany) {
      const outcomes = await from.acquireMany(names);
      return outcomes.flatMap((one) => (one.outcome === 'granted' ? [one.lease] : []));
    }
    const lease = await from.acquire(random.pick(names), {
      waitMs: random.chance(0.5) ? random.between(100, 10_000) : 0,
      graceAfterLossMs: random.chance(0.2) ? 500 : 0,
      signal: leaving.signal,
    });
    return lease === undefined ? [] : [lease];
  }

  async function use(lease: Lease): Promise<void> {
    const count = random.integer(0, 6);
    for (let index = 0; index < count && lease.state === 'held'; index++) {
      await write(lease);
      await sleep(runtime, random.magnitude(5, 1_500), lease.signal);
    }
    const chance = random.next();
    if (chance < 0.2) await lease.handoff(random.pick(others), random.between(100, 3_000));
    else if (chance < 0.25) lease.end('revoked');
    await lease.release();
  }

  async function write(lease: Lease): Promise<void> {
    try {
      const value = random.next();
      await host.fence.transaction(lease, async (batch) => batch.set(lease.name, value));
      host.progress('write');
    } catch (error) {
      if (!(error instanceof StaleTermError)) await sleep(runtime, 50, lease.signal);
    }
  }
}
