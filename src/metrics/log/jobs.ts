import type { Unsubscribe } from '../../events/index.js';
import type { Once } from '../../once/index.js';
import type { Schedule } from '../../schedule/index.js';
import { all } from '../site.js';
import { type EventLog, loggedError } from './event-log.js';

export function logSchedule(log: EventLog, { events }: Schedule): Unsubscribe {
  return all(
    events.on('runBegan', ({ run: { job, id: runId, attempt } }) =>
      log.write('run.began', { job, runId, attempt }),
    ),
    events.on('runEnded', ({ run: { job, id: runId, state } }) => {
      const isWanted = state === 'succeeded' || state === 'cancelled';
      log.write(isWanted ? 'run.ended' : 'run.given-up', { job, runId, state });
    }),
    events.on('runFailed', ({ run: { job, id: runId }, error }) =>
      log.write('run.failed', { job, runId, error: loggedError(error) }),
    ),
    events.on('runInterrupted', ({ run: { job, id: runId } }) =>
      log.write('run.interrupted', { job, runId }),
    ),
    events.on('runOverdue', ({ run: { job, id: runId } }) =>
      log.write('run.overdue', { job, runId }),
    ),
    events.on('ticksSkipped', ({ job, skipped: { count } }) =>
      log.write('schedule.ticks-skipped', { job, count }),
    ),
    events.on('jobElsewhere', ({ job, election }) =>
      log.write('schedule.job-elsewhere', { job, election }),
    ),
    events.on('leftOut', ({ election, leaderId, jobs }) =>
      log.write('schedule.left-out', { election, leaderId, jobs }),
    ),
    logLeading(log, events),
    events.on('storeFailed', ({ error, retryInMs }) =>
      log.write('schedule.store-failed', { error: loggedError(error), retryInMs }),
    ),
    events.on('startFailed', ({ election, error, retryInMs }) =>
      log.write('schedule.start-failed', { election, error: loggedError(error), retryInMs }),
    ),
    events.on('stopped', ({ election, error }) =>
      log.write('schedule.stopped', { election, error: loggedError(error) }),
    ),
  );
}

function logLeading(log: EventLog, events: Schedule['events']): Unsubscribe {
  return all(
    events.on('leading', ({ lease: { name, term }, jobs }) =>
      log.write('schedule.leading', { name, term, jobs }),
    ),
    events.on('stoppedLeading', ({ lease: { name, term }, jobs }) =>
      log.write('schedule.stopped-leading', { name, term, jobs }),
    ),
    events.on('leadershipFailed', ({ lease: { name, term }, error }) =>
      log.write('schedule.leadership-failed', { name, term, error: loggedError(error) }),
    ),
  );
}

/** Without the detail of an attempt, which may quote what the effect threw. */
export function logEffects(log: EventLog, once: Once): Unsubscribe {
  return all(
    once.on('unknown', ({ key, attempt, startedBy, isOwn }) =>
      log.write('effect.unknown', { key, attempt, startedBy, isOwn }),
    ),
    once.on('decided', ({ key, attempt, outcome }) =>
      log.write('effect.decided', { key, attempt, outcome }),
    ),
    once.on('superseded', ({ key, attempt }) => log.write('effect.superseded', { key, attempt })),
    once.on('recordedLate', ({ key, attempt }) =>
      log.write('effect.recorded-late', { key, attempt }),
    ),
    once.on('unrecorded', ({ key, attempt, reason }) =>
      log.write('effect.unrecorded', { key, attempt, error: loggedError(reason) }),
    ),
  );
}
