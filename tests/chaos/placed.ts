import { setTimeout as sleep } from 'node:timers/promises';
import type { Crew } from './crew.js';
import type { History, Line } from './history.js';

/** Nothing that is waited for takes so long, even on a busy machine. */
const patienceMs = 90_000;
const attemptCount = 3;

export interface PlacedFreeze {
  readonly who: string;
  readonly term: number;
  readonly wasAccepted: boolean;
}

/**
 * The accident that fences are for, at a place where it cannot miss: a leader is stopped between two of its statements, longer
 * than its lease is good for and until its successor has written. Woken, it writes at once, with the old lease.
 *
 * @param calm takes care that it is not stopped in the middle of something that would keep the others from the store, and
 * returns what lets them go on.
 */
export async function freezeBetweenStatements(
  crew: Crew,
  history: History,
  ttlMs: number,
  calm: () => Promise<() => void>,
): Promise<PlacedFreeze> {
  for (let attempt = 1; ; attempt++) {
    const wake = await freezeLeader(crew, history, ttlMs, calm);
    if (wake !== undefined) return wake;
    if (attempt === attemptCount) throw new Error('no leader could be stopped between statements');
  }
}

async function freezeLeader(
  crew: Crew,
  history: History,
  ttlMs: number,
  calm: () => Promise<() => void>,
): Promise<PlacedFreeze | undefined> {
  const wrote = await history.next(({ event }) => event === 'wrote', patienceMs);
  const seat = crew.seats.find(({ id, generation }) => `${id}.${generation}` === wrote?.who);
  if (wrote === undefined || seat === undefined) return undefined;
  const { who } = wrote;
  const letGo = await calm();
  const standing = history.next((line) => line.who === who && line.event === 'standing', 10_000);
  seat.program.signal('SIGUSR2');
  const stood = await standing;
  if (stood === undefined) {
    letGo();
    return undefined;
  }
  const { term = 0 } = stood;
  crew.freeze(seat);
  history.note('nemesis', 'placedFreeze', { holder: who, term });
  letGo();
  const isSucceeded = (line: Line) => line.event === 'wrote' && (line.term ?? 0) > term;
  const [successor] = await Promise.all([
    history.next(isSucceeded, patienceMs),
    sleep(ttlMs * 1.2),
  ]);
  const isEnd = (line: Line) =>
    line.who === who &&
    line.kind === 'zombie' &&
    ['refused', 'wrote', 'failed', 'unknown'].includes(line.event);
  const ended = history.next(isEnd, patienceMs);
  crew.thaw(seat);
  const end = await ended;
  if (successor === undefined || end === undefined || !['refused', 'wrote'].includes(end.event))
    return undefined;
  return { who, term, wasAccepted: end.event === 'wrote' };
}
