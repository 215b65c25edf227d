import { OptionError } from '../../errors/index.js';
import type { JobListing, RunRecord, RunRequest } from '../../schedule/index.js';
import { JobInUseError, JobUnknownError } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { sayAct } from '../display/record.js';
import { visible } from '../display/visible.js';
import { exitStatus } from '../exit-status.js';
import { agree } from '../operate/consent.js';
import { sayLeadership } from './list.js';
import { type JobOrder, type JobVerdict, OrderUnderWay } from './order.js';
import { hasEnded, sayDetail, sayState } from './run-text.js';
import type { JobSession } from './session.js';

/** Asks for a run beside the schedule, and waits until it has begun, or has ended. */
export async function runNow(
  session: JobSession,
  order: JobOrder,
  untilEnded: boolean,
): Promise<number> {
  const { runtime, store } = session;
  const { job, by, reason } = order;
  const way = new OrderUnderWay(session, order);
  // Nobody would ever begin it.
  if ((await way.look()).leadership === 'external') {
    const remedy = 'run it in a process that has the task, with task.execute()';
    throw new OptionError('JOB', job, 'is a task of node-cron, which is not run on demand', remedy);
  }
  // Made once, so that what is asked again is the same run.
  const id = `${job}!${runtime.randomHex(8)}`;
  const asked = await way.act(() => store.request({ id, job, by, reason }, { timeoutMs: 5_000 }));
  if (asked === undefined) throw new JobUnknownError(job);
  session.terminal.note(`asked for run ${visible(id)}`);
  const verdict = await way.untilSeen(async () => {
    const run = await way.run(id);
    if (run === undefined) return undefined;
    if (!hasEnded(run)) return untilEnded ? undefined : begun(run);
    return ended(run);
  });
  if (verdict !== undefined) return way.conclude('run', verdict);
  const status = way.conclude('run', verdict, `it stands: ${sayHope(await way.look())}`);
  const words = ['jobs', 'cancel', job, id, '--reason', 'TEXT'];
  session.terminal.note(`  withdraw: ${session.write(words)}`);
  return status;
}

/** When what was asked for begins. */
function sayHope(listing: JobListing): string {
  const why = sayLeadership(listing);
  if (why === '') return 'a leader begins it when no other run is open';
  return `${why}. It begins when a process that defines ${visible(listing.job)} leads`;
}

function begun(run: RunRecord): JobVerdict {
  return { holds: true, say: `${sayRun(run)} has begun on ${visible(run.holderId)}`, run };
}

function ended(run: RunRecord): JobVerdict {
  const holds = run.state === 'succeeded';
  const detail = holds ? '' : sayDetail(run);
  const why = detail === '' ? '' : ` (${detail})`;
  return { holds, say: `${sayRun(run)} has ended: ${sayState(run)}${why}`, run };
}

const sayRun = ({ id }: RunRecord) => `run ${visible(id)}`;

/** From then on no tick begins. What is under way goes on. */
export async function pause(session: JobSession, order: JobOrder): Promise<number> {
  const { job, by, reason } = order;
  const way = new OrderUnderWay(session, order);
  const before = await way.look();
  const stands = await way.act(() => session.jobs.pause(job, { by, reason }));
  const name = visible(job);
  const say =
    before.pause === undefined
      ? `${name} is paused: no tick of it begins`
      : `${name} was paused before, ${sayAct(stands)}`;
  const goesOn = before.open === undefined ? '' : `; ${sayRun(before.open)} goes on`;
  const status = way.conclude('pause', { holds: true, say: `${say}${goesOn}`, run: before.open });
  session.terminal.note(`  until: ${session.write(['jobs', 'resume', job])}`);
  return status;
}

export async function resume(session: JobSession, order: JobOrder): Promise<number> {
  const { job } = order;
  const way = new OrderUnderWay(session, order);
  // Asked before: an answer that was lost would read as if there had been no pause.
  const { pause: stood } = await way.look();
  await way.act(() => session.jobs.resume(job));
  const next = sayNext(await way.look());
  const what = stood === undefined ? 'was not paused' : `is resumed (paused ${sayAct(stood)})`;
  return way.conclude('resume', { holds: true, say: `${visible(job)} ${what}; ${next}` });
}

function sayNext({ nextMs, leadership }: JobListing): string {
  if (nextMs !== undefined) return `next: ${sayInstant(nextMs)}`;
  return leadership === 'external' ? 'node-cron says when it is due' : 'it is never due again';
}

export interface CancelOptions {
  /** Default: the open one, or if there is none, all that were asked for. */
  readonly runId: string | undefined;
  /** Agreed beforehand. */
  readonly yes: boolean;
}

/**
 * Aborts a run that has not ended, wherever it runs, and waits until it has; or withdraws what was asked for and has not
 * begun.
 */
export async function cancel(
  session: JobSession,
  order: JobOrder,
  { runId, yes }: CancelOptions,
): Promise<number> {
  const { job } = order;
  const plan = new OrderUnderWay(session, order);
  const listing = await plan.look();
  const { open, requests } = listing;
  const asked = runId === undefined ? requests : requests.filter(({ id }) => id === runId);
  const isOpen = open !== undefined && (runId === undefined || runId === open.id);
  const run = isOpen ? open : await runBefore(plan, runId);
  if (run === undefined && asked.length > 0)
    return await agreedOr(session, yes, showWithdrawal(order, asked), () =>
      withdraw(session, order, asked),
    );
  if (run === undefined) return plan.conclude('cancel', nothingToCancel(job, runId));
  if (hasEnded(run)) {
    const say = `${sayRun(run)} has ended before: ${sayState(run)}`;
    const holds = run.state === 'cancelled' || run.state === 'withdrawn';
    return plan.conclude('cancel', { holds, say, run });
  }
  return await agreedOr(session, yes, showCancellation(order, run, listing), () =>
    cancelRun(session, order, run.id),
  );
}

async function runBefore(plan: OrderUnderWay, id: string | undefined) {
  return id === undefined ? undefined : await plan.run(id);
}

/** To think takes time, which is not the store's: what is done has a time of its own. */
async function agreedOr(
  session: JobSession,
  yes: boolean,
  plan: readonly string[],
  act: () => Promise<number>,
): Promise<number> {
  const { terminal, address, namespace } = session;
  const [what = '', ...lines] = plan;
  const at = `  at:    ${visible(address)}, namespace ${visible(namespace)}`;
  for (const line of [what, at, ...lines]) terminal.note(line);
  if (await agree(session, yes)) return await act();
  terminal.note('nothing was done');
  return exitStatus.refused;
}

async function cancelRun(session: JobSession, order: JobOrder, id: string): Promise<number> {
  const { job, by, reason } = order;
  const way = new OrderUnderWay(session, order);
  await way.act(() => session.jobs.cancel(job, id, { by, reason }));
  return await untilCancelled(way, id);
}

async function untilCancelled(way: OrderUnderWay, id: string): Promise<number> {
  const verdict = await way.untilSeen(async () => {
    const now = await way.run(id);
    if (now === undefined || !hasEnded(now)) return undefined;
    return { ...ended(now), holds: now.state === 'cancelled' };
  });
  return way.conclude('cancel', verdict, 'it stands: the run ends when its work has stopped');
}

/** A leader may begin one of them in the same moment: that run is cancelled then. */
async function withdraw(
  session: JobSession,
  order: JobOrder,
  asked: readonly RunRequest[],
): Promise<number> {
  const { store } = session;
  const { job, by, reason } = order;
  const way = new OrderUnderWay(session, order);
  let begunId: string | undefined;
  for (const { id } of asked) {
    const result = await way.act(() => store.cancel(job, id, { by, reason }, { timeoutMs: 5_000 }));
    if (result === 'marked') begunId = id;
  }
  if (begunId !== undefined) return await untilCancelled(way, begunId);
  const [first] = asked;
  const run = first === undefined ? undefined : await way.run(first.id);
  if (run !== undefined && run.state !== 'withdrawn') return way.conclude('cancel', ended(run));
  const which = asked.map(({ id }) => `run ${visible(id)}`).join(', ');
  const say = `${which} ${asked.length === 1 ? 'is' : 'are'} withdrawn: it never begins`;
  return way.conclude('cancel', { holds: true, say, run });
}

function nothingToCancel(job: string, runId: string | undefined): JobVerdict {
  const what =
    runId === undefined ? 'no run is under way or asked for' : `there is no run ${visible(runId)}`;
  return { holds: false, say: `${visible(job)}: ${what}` };
}

function showCancellation(
  { job, by, reason }: JobOrder,
  run: RunRecord,
  listing: JobListing,
): string[] {
  const then = isLeftOpen(listing)
    ? [
        '  then:  the run ends as cancelled at once, and is not tried again',
        `         ${sayLeadership(listing) || 'nobody leads it'}; if the work goes on somewhere, nobody tells it to stop`,
      ]
    : [
        '  then:  its work is told to stop; the run ends as cancelled when it has, and is not tried again',
      ];
  return [
    `cancel ${visible(job)}`,
    `  now:   ${sayRun(run)} is ${sayState(run)}, attempt ${run.attempt} on ${visible(run.holderId)}`,
    ...then,
    `  why:   ${visible(reason)}, by ${visible(by)}`,
  ];
}

/** Nobody leads under the term of its runs any more: the act itself ends what stands open. */
function isLeftOpen({ leadership, electedId }: JobListing): boolean {
  return leadership === 'left-out' || (leadership !== 'led' && electedId === undefined);
}

function showWithdrawal({ job, by, reason }: JobOrder, asked: readonly RunRequest[]): string[] {
  const lines = asked.map(
    ({ id, atMs, by: asker, reason: cause }) =>
      `run ${visible(id)}, asked for by ${visible(asker)} at ${sayInstant(atMs)}: ${visible(cause)}`,
  );
  return [
    `cancel ${visible(job)}`,
    ...lines.map((line, index) => `${index === 0 ? '  now:   ' : '         '}${line}`),
    '  then:  it is withdrawn, and never begins',
    `  why:   ${visible(reason)}, by ${visible(by)}`,
  ];
}

/** Removes a job with its history, if no run of it is open. */
export async function forget(
  session: JobSession,
  order: JobOrder,
  { yes }: Pick<CancelOptions, 'yes'>,
): Promise<number> {
  const { job } = order;
  const listing = await new OrderUnderWay(session, order).look();
  return await agreedOr(session, yes, showRemoval(listing), async () => {
    const way = new OrderUnderWay(session, order);
    const name = visible(job);
    try {
      await way.act(() => session.jobs.forget(job));
    } catch (error) {
      if (error instanceof JobInUseError)
        return way.conclude('forget', { holds: false, say: error.message, run: error.run });
      // An answer that was lost had removed it.
      if (!(error instanceof JobUnknownError)) throw error;
    }
    return way.conclude('forget', { holds: true, say: `${name} is forgotten, with its history` });
  });
}

function showRemoval(listing: JobListing): string[] {
  const { job, leaderId, electedId, requests, leadership } = listing;
  const isLed = leadership === 'led';
  const now = isLed ? `${visible(leaderId)} leads it` : sayLeadership(listing);
  const asked = requests.length === 0 ? '' : `, and ${requests.length} asked for`;
  const who = isLed ? visible(electedId ?? '') : 'a process that defines it';
  return [
    `forget ${visible(job)}`,
    `  now:   ${now === '' ? 'nobody is known to run it' : now}`,
    `  then:  it is gone, with its history and its pause${asked}`,
    `         ${who} makes it anew${isLed ? ' at once, if that process defines it still' : ', once it leads'}`,
  ];
}
