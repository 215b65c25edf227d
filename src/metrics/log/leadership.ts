import type { Elections } from '../../elections/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Leases } from '../../leases/index.js';
import { all } from '../site.js';
import { type EventLog, loggedError } from './event-log.js';

export function logLeases(log: EventLog, { events }: Leases): Unsubscribe {
  return all(
    events.on('acquired', ({ lease: { name, term } }) =>
      log.write('lease.acquired', { name, term }),
    ),
    events.on('uncertain', ({ lease: { name, term }, cause }) =>
      log.write('lease.uncertain', { name, term, cause }),
    ),
    events.on('recovered', ({ lease: { name, term } }) =>
      log.write('lease.recovered', { name, term }),
    ),
    events.on('lost', ({ lease: { name, term }, reason }) =>
      log.write('lease.lost', { name, term, reason }),
    ),
    events.on('released', ({ lease: { name, term }, reason }) =>
      log.write('lease.released', { name, term, reason }),
    ),
    events.on('renewal', ({ leaseCount, roundTripMs, shortestRemainingMs, error }) => {
      if (error === undefined) return;
      const told = { leaseCount, roundTripMs, shortestRemainingMs, error: loggedError(error) };
      log.write('lease.renewal-failed', told);
    }),
    events.on('duplicate', ({ name, id }) => log.write('candidate.duplicate', { name, id })),
  );
}

/** Each election that there is and will be. */
export function logElections(log: EventLog, elections: Elections): Unsubscribe {
  const logged: Unsubscribe[] = [];
  const stop = elections.onElection(({ name, events }) => {
    logged.push(
      events.on('elected', ({ lease: { term }, campaignMs }) =>
        log.write('election.elected', { name, term, campaignMs }),
      ),
      events.on('lost', ({ lease: { term }, reason }) =>
        log.write('election.lost', { name, term, reason }),
      ),
      events.on('resigned', ({ lease: { term }, reason }) =>
        log.write('election.resigned', { name, term, reason }),
      ),
      events.on('workFailed', ({ term, error }) =>
        log.write('election.work-failed', { name, term, error: loggedError(error) }),
      ),
      events.on('workReturned', ({ term }) => log.write('election.work-returned', { name, term })),
      events.on('workOverdue', ({ term }) => log.write('election.work-overdue', { name, term })),
      events.on('campaignFailed', ({ error, retryInMs }) =>
        log.write('election.campaign-failed', { name, error: loggedError(error), retryInMs }),
      ),
      events.on('duplicate', ({ id }) => log.write('election.duplicate', { name, id })),
      events.on('termHealed', ({ above, term }) =>
        log.write('election.term-healed', { name, above, term }),
      ),
      events.on('evidenceFailed', ({ error }) =>
        log.write('election.evidence-failed', { name, error: loggedError(error) }),
      ),
    );
  });
  return () => {
    stop();
    all(...logged)();
  };
}
