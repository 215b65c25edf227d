import type { Election, ElectionCandidate, Elections } from '../../elections/index.js';
import { errorKindOf } from '../../errors/error-kind.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { SharedAnswer } from '../answer.js';
import { all, type Site } from '../site.js';

/** Each election that there is and will be, and the leases they are led by. */
export function observeElections(site: Site, elections: Elections): Unsubscribe {
  const { leases } = elections;
  const observed: Unsubscribe[] = [site.observe(leases, undefined)];
  const stop = elections.onElection((election) => {
    observed.push(observeElection(site, election, leases.runtime));
  });
  return all(stop, () => all(...observed)());
}

export function observeElection(site: Site, made: Election, runtime: Runtime): Unsubscribe {
  const { instruments } = site;
  const { events } = made;
  const election = site.names.of('election', made.name);
  const failed = (how: string) => () => instruments.workFailures.add({ election, how });
  instruments.elected.expect({ election });
  return all(
    events.on('elected', ({ lease, campaignMs }) => {
      instruments.elected.add({ election });
      instruments.campaign.record({ election }, campaignMs / 1000);
      if (site.asksStore) void recordVacancy(site, made, election, lease.term);
    }),
    events.on('lost', ({ reason }) => instruments.ended.add({ election, reason })),
    events.on('resigned', ({ reason }) => instruments.ended.add({ election, reason })),
    events.on('workFailed', failed('threw')),
    events.on('workReturned', failed('returned')),
    events.on('workOverdue', failed('overdue')),
    events.on('termHealed', () => instruments.healed.add({ what: 'election' })),
    events.on('campaignFailed', ({ error }) =>
      instruments.storeErrors.add({ operation: 'campaign', kind: errorKindOf(error) }),
    ),
    observeCandidates(site, made, election, runtime),
    site.onCollect({
      tell: () => {
        const { current } = made;
        instruments.leader.tell({ election }, current === undefined ? 0 : 1);
        if (current !== undefined) instruments.term.tell({ election }, current.term);
      },
    }),
  );
}

function observeCandidates(
  site: Site,
  made: Election,
  election: string,
  runtime: Runtime,
): Unsubscribe {
  const candidates = new SharedAnswer<ElectionCandidate[]>(site, runtime, () => made.candidates());
  return site.onCollect({
    prepare: () => candidates.refresh(),
    tell: () => {
      if (candidates.value === undefined) return;
      for (const standing of ['waiting', 'present', 'observing'] as const) {
        const count = candidates.value.filter((one) => one.standing === standing).length;
        site.instruments.candidates.tell({ election, standing }, count);
      }
    },
  });
}

/** By the history, which the store's clock wrote: of all processes, the one that ended the vacancy tells it. */
async function recordVacancy(
  site: Site,
  made: Election,
  election: string,
  term: number,
): Promise<void> {
  const { vacancy, storeErrors } = site.instruments;
  try {
    const entry = (await made.history()).find((one) => one.kind !== 'act' && one.term === term);
    const vacantMs = entry?.kind === 'act' ? undefined : entry?.vacantMs;
    if (vacantMs !== undefined) vacancy.record({ election }, vacantMs / 1000);
  } catch (error) {
    storeErrors.add({ operation: 'collect', kind: errorKindOf(error) });
  }
}
