import type { LeaseRecord } from '../../coordinators/index.js';
import { elapsedMs } from '../../time/index.js';
import { recordAsJson, sayRecord } from '../display/record.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { exitStatus, InterruptedError } from '../exit-status.js';
import { call, type Session } from '../session.js';
import type { OperatorAct, Situation, Verdict } from './act.js';
import { agree, showPlan } from './consent.js';
import { awaitEffect, type Deadline, insist, type Outcome } from './effect.js';

export interface OperateOptions {
  /** Agreed beforehand. */
  readonly yes: boolean;
  readonly timeoutMs: number;
  readonly format: 'text' | 'json';
}

/** Shows the plan, asks, acts, waits for the effect and tells what came of it. Answers with the exit status. */
export async function operate(
  session: Session,
  act: OperatorAct,
  options: OperateOptions,
): Promise<number> {
  session.pending.announce(
    `the ${act.verb} of ${visible(act.name)}`,
    session.write(['status', act.name]),
  );
  const before = await look(session, act.name);
  const plan = act.plan(before, session.write);
  showPlan(session, act, before, plan);
  const started = session.runtime.now();
  const conclude = (verdict: Verdict | undefined, record: LeaseRecord | undefined) =>
    report(session, act, before, {
      verdict,
      record,
      tookMs: elapsedMs(started, session.runtime.now()),
      format: options.format,
    });
  if (plan.kind === 'nothing') {
    const say = `${visible(act.name)}: ${plan.because}`;
    return conclude({ holds: plan.holds, say }, before.record);
  }
  const needsConsent = act.needsConsent && plan.kind === 'act';
  if (needsConsent && !(await agree(session, options.yes)))
    return refused(session, 'nothing was done');
  if (needsConsent && !options.yes && !(await isUnchanged(session, before)))
    return refused(
      session,
      'meanwhile something else stands there, so nothing was done: look again',
    );
  const deadline = { from: session.runtime.now(), timeoutMs: options.timeoutMs };
  if (plan.kind === 'act') {
    const found = await insist(session, act, before, deadline);
    if (isAnotherTerm(before, found))
      return refused(
        session,
        `somebody else holds it now, so nothing was done: ${sayRecord(found)}`,
      );
  }
  const { verdict, record } = await untilSeen(session, act, before, deadline);
  return conclude(verdict, record);
}

async function look({ coordinator }: Session, name: string): Promise<Situation> {
  const [[record], candidates] = await Promise.all([
    coordinator.read([name], call),
    coordinator.candidates(name, call),
  ]);
  return { record, candidates };
}

function refused({ terminal }: Session, why: string): number {
  terminal.note(why);
  return exitStatus.refused;
}

/** Whether what a person agreed to is still so; thinking takes time. */
async function isUnchanged({ coordinator }: Session, before: Situation): Promise<boolean> {
  if (before.record === undefined) return true;
  const [now] = await coordinator.read([before.record.name], call);
  return now?.state === before.record.state && sayRecord(now) === sayRecord(before.record);
}

/** Whether the term that was shown ended between the look and the act, and somebody holds another. */
function isAnotherTerm({ record }: Situation, found: LeaseRecord | undefined): boolean {
  return record?.state === 'held' && found?.state === 'held' && found.term !== record.term;
}

async function untilSeen(
  session: Session,
  act: OperatorAct,
  before: Situation,
  deadline: Deadline,
): Promise<Outcome> {
  try {
    return await awaitEffect(session, act, before, deadline);
  } catch (error) {
    // Of one that was stopped it is told with the signal.
    if (error instanceof InterruptedError) throw error;
    session.terminal.note(
      `the ${act.verb} of ${visible(act.name)} stands; what comes of it: ${session.write(['status', act.name])}`,
    );
    throw error;
  }
}

interface Conclusion extends Outcome {
  readonly tookMs: number;
  readonly format: OperateOptions['format'];
}

function report(
  { terminal, address, namespace }: Session,
  act: OperatorAct,
  before: Situation,
  { verdict, record, tookMs, format }: Conclusion,
): number {
  if (format === 'json') {
    const answer = {
      store: address,
      namespace,
      act: act.verb,
      ...named(act.name, before.record, record),
      holds: verdict?.holds ?? false,
      inTime: verdict !== undefined,
      tookMs: Math.round(tookMs),
    };
    terminal.print(jsonText(answer, 2));
  } else if (verdict !== undefined) terminal.print(verdict.say);
  if (verdict === undefined) {
    terminal.note(
      `tenure ${act.verb}: not seen within ${sayDuration(tookMs)}; it stands, and takes effect later`,
    );
    return exitStatus.notInTime;
  }
  return verdict.holds ? exitStatus.success : exitStatus.failedVerdict;
}

function named(name: string, before: LeaseRecord | undefined, after: LeaseRecord | undefined) {
  return { name, before: recordAsJson(name, before), after: recordAsJson(name, after) };
}
