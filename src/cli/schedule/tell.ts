import { redactSecrets } from '../../errors/index.js';
import type { RunRecord, Schedule } from '../../schedule/index.js';
import { realRuntime } from '../../time/index.js';
import { sayInstant } from '../display/instant.js';
import { sayDuration } from '../duration.js';
import { sayDetail, sayState, sayTook } from '../jobs/run-text.js';
import { Outage } from '../supervise/outage.js';
import type { Voice } from '../supervise/voice.js';

/**
 * Says what happens to the jobs that this process leads, and why it cannot lead.
 *
 * @param signal when it aborts, nobody waits for a store to answer again.
 */
export function tellOf(schedule: Schedule, voice: Voice, signal: AbortSignal): void {
  const { events } = schedule;
  events.on('leading', ({ lease, jobs }) =>
    voice.say(`leading ${sayJobs(jobs)} in ${lease.name}, term ${lease.term}`),
  );
  events.on('stoppedLeading', ({ lease, jobs }) => {
    const why = lease.endReason === undefined ? '' : `: ${lease.endReason}`;
    voice.say(`not leading ${sayJobs(jobs)} any more, term ${lease.term}${why}`);
  });
  events.on('leadershipFailed', ({ error }) =>
    voice.sayOnce(`${textOf(error)} Trying again later.`),
  );
  events.on('runBegan', ({ run }) => {
    const attempt = run.attempt === 1 ? '' : `, attempt ${run.attempt}`;
    voice.say(`${run.id} begins${attempt}`);
  });
  events.on('runEnded', ({ run }) => voice.say(`${run.id} ${sayEnd(run)}`));
  events.on('runFailed', ({ run }) => {
    const when = run.retryAtMs === undefined ? '' : `; again at ${sayInstant(run.retryAtMs)}`;
    voice.say(`${run.id} attempt ${run.attempt} failed: ${run.detail}${when}`);
  });
  events.on('runInterrupted', ({ run }) =>
    voice.say(`${run.id} was interrupted; the next leader goes on with it`),
  );
  events.on('runOverdue', ({ run }) =>
    voice.say(`${run.id} was told to stop, and has not stopped yet`),
  );
  events.on('ticksSkipped', ({ job, skipped }) => {
    const { count, fromMs } = skipped;
    const which = count === 1 ? 'a tick' : `${count} ticks`;
    voice.say(`${job} skips ${which}, from ${sayInstant(fromMs)} on`);
  });
  events.on('clockWentBack', ({ job, aheadMs, isMended }) => {
    const what = isMended
      ? 'it goes on from now'
      : 'nothing of it begins until the clock has caught up, or it was forgotten';
    voice.say(
      `${job} is ${sayDuration(aheadMs)} ahead of the store's clock, which was set back: ${what}`,
    );
  });
  events.on('jobElsewhere', ({ job, election }) =>
    voice.say(
      `${job} is led in the election ${election}: give all replicas the same --name, and --spread or not`,
    ),
  );
  events.on('leftOut', ({ election, leaderId, jobs }) =>
    voice.say(
      `waiting, and ${leaderId} leads ${election} and does not run ${sayJobs(jobs)}: if this is no deploy under way, give each application a name of its own with --name`,
    ),
  );
  events.on('jobCorrupt', ({ job, error }) =>
    voice.say(`${job} is not run: ${textOf(error)} The other jobs are.`),
  );
  events.on('jobForgotten', ({ job }) =>
    voice.say(`${job} was forgotten by somebody; it is made anew, with the ticks from now on`),
  );
  const [first] = schedule.elections;
  const ask = async () => await first?.read();
  const outage = new Outage({ runtime: realRuntime, voice, ask, signal });
  const tellFailure = ({ error }: { readonly error: unknown }) =>
    outage.failed(error, `${textOf(error)} Trying again.`);
  events.on('storeFailed', tellFailure);
  for (const election of schedule.elections) {
    election.events.on('campaignFailed', tellFailure);
    election.events.on('duplicate', ({ id }) =>
      voice.say(`another live process uses the id ${id}; give each one of its own with --id`),
    );
  }
}

function sayJobs(jobs: readonly string[]): string {
  return jobs.length === 0 ? 'no job' : jobs.join(', ');
}

function sayEnd(run: RunRecord): string {
  const took = sayTook(run);
  const detail = detailOf(run);
  return `${sayState(run)}${took === '' ? '' : ` after ${took}`}${detail === undefined ? '' : `: ${detail}`}`;
}

function detailOf(run: RunRecord): string | undefined {
  if (run.state === 'succeeded') return undefined;
  return run.state === 'cancelled' ? sayDetail(run) : run.detail;
}

function textOf(error: unknown): string {
  return redactSecrets(error instanceof Error ? error.message : String(error));
}
