import { errorKindOf } from '../../errors/error-kind.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Once } from '../../once/index.js';
import type { Schedule } from '../../schedule/index.js';
import type { Runtime } from '../../time/index.js';
import { all, type Site } from '../site.js';
import { observeElection } from './elections.js';

/** A schedule, the elections that decide who runs its jobs, and the leases they are led by. */
export function observeSchedule(site: Site, schedule: Schedule, runtime: Runtime): Unsubscribe {
  const { runs, attemptsFailed, ticksSkipped, jobsLed, storeErrors } = site.instruments;
  const { events } = schedule;
  const name = (job: string) => site.names.of('job', job);
  const led = new Set<string>();
  return all(
    site.observe(schedule.leases, undefined),
    ...schedule.elections.map((election) => observeElection(site, election, runtime)),
    events.on('runEnded', ({ run }) => runs.add({ job: name(run.job), outcome: run.state })),
    events.on('runFailed', ({ run }) => attemptsFailed.add({ job: name(run.job) })),
    events.on('ticksSkipped', ({ job, skipped }) =>
      ticksSkipped.add({ job: name(job) }, skipped.count),
    ),
    events.on('storeFailed', ({ error }) =>
      storeErrors.add({ operation: 'schedule', kind: errorKindOf(error) }),
    ),
    events.on('leading', ({ jobs }) => {
      for (const job of jobs) led.add(job);
    }),
    events.on('stoppedLeading', ({ jobs }) => {
      for (const job of jobs) led.delete(job);
    }),
    site.onCollect({ tell: () => jobsLed.tell({}, led.size) }),
  );
}

export function observeOnce(site: Site, once: Once): Unsubscribe {
  const { onceUnknown, onceDecided, onceSuperseded } = site.instruments;
  return all(
    once.on('unknown', () => onceUnknown.add({})),
    once.on('decided', ({ outcome }) => onceDecided.add({ outcome })),
    once.on('superseded', () => onceSuperseded.add({})),
  );
}
