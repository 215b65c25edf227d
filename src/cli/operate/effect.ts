import { groupOf, type LeaseRecord } from '../../coordinators/index.js';
import { isTransient } from '../../errors/index.js';
import { Backoff, elapsedMs, type Instant, sleep } from '../../time/index.js';
import { Bell } from '../bell.js';
import { remainingOf } from '../display/record.js';
import { call, type Session } from '../session.js';
import type { OperatorAct, Situation, Verdict } from './act.js';

/** A wake is only a hint, so it is looked at least this often. */
const lookEveryMs = 500;
/**
 * What is not as wanted is believed when it is seen twice: of several servers some may have gone on while others have not,
 * and for a moment there is nothing under the name that most of them agree on.
 */
const secondLookMs = 100;
const afterFailure = { firstMs: 200, limitMs: 2_000 };

/** How long there is for the act and its effect together. */
export interface Deadline {
  readonly from: Instant;
  readonly timeoutMs: number;
}

/** What stood under the name when the act was performed; `undefined`: that was not told, or may be what came of it. */
type Found = LeaseRecord | undefined;

/**
 * Performs the act, again and again while the store does not answer and nothing shows that it was done; an emergency is
 * when a store is hard to reach. Answers with what stood there in the same step, if that was told by the first attempt.
 *
 * @throws the last error when the time is up, and at once what trying again does not help against.
 */
export async function insist(
  session: Session,
  act: OperatorAct,
  before: Situation,
  deadline: Deadline,
): Promise<Found> {
  const { coordinator, terminal, runtime, signal, pending } = session;
  const backoff = new Backoff(runtime, afterFailure);
  for (let attempt = 1; ; attempt += 1) {
    try {
      // What was asked once may have been done: a second time it might meet the next holder.
      if (attempt > 1) {
        const [record] = await coordinator.read([act.name], call);
        if (act.isDone(before, record)) {
          pending.confirm();
          return undefined;
        }
      }
      const found = await pending.ask(() => act.perform(coordinator, before, call));
      return attempt === 1 ? found : undefined;
    } catch (error) {
      const pauseMs = backoff.nextMs();
      if (!isTransient(error) || leftMs(session, deadline) <= pauseMs) throw error;
      if (attempt === 1) terminal.note('the store did not answer; trying again');
      await sleep(runtime, pauseMs, signal);
      signal.throwIfAborted();
    }
  }
}

export interface Outcome {
  /** `undefined`: the time was up before. */
  readonly verdict: Verdict | undefined;
  readonly record: LeaseRecord | undefined;
}

/** Looks until there is a verdict, or the time is up. @throws if the store did not answer any more by then. */
export async function awaitEffect(
  session: Session,
  act: OperatorAct,
  before: Situation,
  deadline: Deadline,
): Promise<Outcome> {
  const { coordinator, runtime, signal } = session;
  const bell = new Bell(runtime);
  const stopWatching = coordinator.watch(groupOf(act.name), bell.ring);
  let doubted: string | undefined;
  try {
    for (;;) {
      const look = await lookOnce(session, act.name);
      const isLate = leftMs(session, deadline) <= 0;
      if (look.failed && isLate) throw look.error;
      if (!look.failed) {
        const { record } = look;
        const verdict = act.judge(before, record);
        const isBelieved = verdict?.holds === true || verdict?.say === doubted || isLate;
        if (verdict !== undefined && isBelieved) return { verdict, record };
        doubted = verdict?.say;
        if (isLate) return { verdict: act.judgeLate?.(before, record), record };
      }
      const pauseMs = Math.min(lookEveryMs, (remainingOf(look.record) ?? lookEveryMs) + 5);
      // A ring would make it the same look.
      if (doubted !== undefined) await sleep(runtime, secondLookMs, signal);
      else await bell.wait(Math.min(pauseMs, Math.max(0, leftMs(session, deadline))), signal);
      signal.throwIfAborted();
    }
  } finally {
    stopWatching();
  }
}

type Look =
  | { readonly failed: false; readonly record: LeaseRecord | undefined }
  | { readonly failed: true; readonly error: Error; readonly record?: undefined };

async function lookOnce({ coordinator }: Session, name: string): Promise<Look> {
  try {
    const [record] = await coordinator.read([name], call);
    return { failed: false, record };
  } catch (error) {
    if (isTransient(error)) return { failed: true, error };
    throw error;
  }
}

function leftMs({ runtime }: Session, { from, timeoutMs }: Deadline): number {
  return timeoutMs - elapsedMs(from, runtime.now());
}
