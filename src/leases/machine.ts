import { elapsedMs, type Instant, isBefore, wallStepMs } from '../time/index.js';
import type { EndReason, LossAtStore } from './end-reason.js';

/**
 * The life of one lease, as a pure function: state, event and time in, next state out.
 *
 * `held` and `uncertain` are alive; `lost` and `released` are final. In `uncertain` the lease is still ours as far as
 * its deadline goes, but something is wrong, so no new work and no new write may begin.
 */
export type LeaseState = 'held' | 'uncertain' | 'lost' | 'released';

export interface LeaseLife {
  readonly state: LeaseState;
  /** When the last request that succeeded was *sent*: the store's validity began then or later. */
  readonly anchor: Instant;
  /** The lease is given up this long after its anchor. */
  readonly heldForMs: number;
  /** When the request that acquired the lease was sent. */
  readonly acquiredAt: Instant;
  /** It may be held for so long after that, however often it is renewed. Infinite: without a limit. */
  readonly maxHoldMs: number;
  /** A wall clock that moved by more than this beside the others is an anomaly. */
  readonly wallToleranceMs: number;
  /** Set in `uncertain`: a renewal has to be sent at this time or later to clear the doubt. */
  readonly doubt: Doubt | undefined;
  /** Set in `lost` and `released`. */
  readonly endReason: EndReason | undefined;
}

export interface Doubt {
  readonly since: Instant;
  readonly cause: 'renewal-failed' | 'connection-lost' | 'clock-stepped';
}

export type LeaseEvent =
  /** The store confirmed a renewal that was sent at `sentAt`. */
  | { readonly type: 'renewed'; readonly sentAt: Instant }
  /** A renewal failed, or had no answer in its time. */
  | { readonly type: 'renewal-failed' }
  | { readonly type: 'connection-lost' }
  | { readonly type: 'clock-stepped' }
  | { readonly type: 'deadline-passed' }
  | { readonly type: 'max-hold-passed' }
  /** The store or a fence said that the lease is somebody else's, gone, or ended by an operator. Final. */
  | { readonly type: 'not-yours'; readonly reason: LossAtStore }
  /** Ended from this side while work may still be running. */
  | { readonly type: 'ended'; readonly reason: 'revoked' | 'stalled' | 'max-hold' | 'shutdown' }
  /** Given back after the work stopped. */
  | { readonly type: 'released'; readonly reason: 'released' | 'handed-off' | 'shutdown' };

type EventOf<Type extends LeaseEvent['type']> = Extract<LeaseEvent, { type: Type }>;
type Transition<Type extends LeaseEvent['type']> = (
  life: LeaseLife,
  event: EventOf<Type>,
  now: Instant,
) => LeaseLife;

const stay = (life: LeaseLife): LeaseLife => life;

const lose = (life: LeaseLife, reason: EndReason): LeaseLife => ({
  ...life,
  state: 'lost',
  doubt: undefined,
  endReason: reason,
});

const release = (life: LeaseLife, event: EventOf<'released'>): LeaseLife => ({
  ...life,
  state: 'released',
  doubt: undefined,
  endReason: event.reason,
});

const doubtBecause =
  (cause: Doubt['cause']) =>
  (life: LeaseLife, _event: LeaseEvent, now: Instant): LeaseLife => ({
    ...life,
    state: 'uncertain',
    doubt: { since: now, cause },
  });

/** A renewal never moves the anchor back: replies may arrive in another order than their requests were sent. */
const anchorAt = (life: LeaseLife, sentAt: Instant): LeaseLife =>
  isBefore(life.anchor, sentAt) ? { ...life, anchor: sentAt } : life;

const clearDoubt = (life: LeaseLife, event: EventOf<'renewed'>): LeaseLife => {
  const anchored = anchorAt(life, event.sentAt);
  const doubt = life.doubt;
  // A reply to a request from before the doubt proves nothing about what happened after it.
  if (doubt !== undefined && isBefore(event.sentAt, doubt.since)) return anchored;
  return { ...anchored, state: 'held', doubt: undefined };
};

const ending = {
  'max-hold-passed': (life: LeaseLife) => lose(life, 'max-hold'),
  'not-yours': (life: LeaseLife, event: EventOf<'not-yours'>) => lose(life, event.reason),
  ended: (life: LeaseLife, event: EventOf<'ended'>) => lose(life, event.reason),
  released: release,
};

const final = {
  renewed: stay,
  'renewal-failed': stay,
  'connection-lost': stay,
  'clock-stepped': stay,
  'deadline-passed': stay,
  'max-hold-passed': stay,
  'not-yours': stay,
  ended: stay,
  released: stay,
};

/** Every state with every event; a missing cell does not compile. ARCHITECTURE.md shows the same table in words. */
const transitions: {
  readonly [State in LeaseState]: { readonly [Type in LeaseEvent['type']]: Transition<Type> };
} = {
  held: {
    ...ending,
    renewed: (life, event) => anchorAt(life, event.sentAt),
    'renewal-failed': doubtBecause('renewal-failed'),
    'connection-lost': doubtBecause('connection-lost'),
    'clock-stepped': doubtBecause('clock-stepped'),
    'deadline-passed': (life) => lose(life, 'expired'),
  },
  uncertain: {
    ...ending,
    renewed: clearDoubt,
    // The first doubt stands: a later failure must not be cleared by a renewal sent before it, nor reset its start.
    'renewal-failed': stay,
    'connection-lost': doubtBecause('connection-lost'),
    'clock-stepped': doubtBecause('clock-stepped'),
    'deadline-passed': (life) =>
      lose(life, life.doubt?.cause === 'clock-stepped' ? 'expired' : 'unreachable'),
  },
  lost: final,
  released: final,
};

/** The next life after `event`, once the clock itself has had its say (see {@link look}). */
export function step(life: LeaseLife, event: LeaseEvent, now: Instant): LeaseLife {
  return apply(look(life, now), event, now);
}

/**
 * What the clock alone says: past the deadline, or held for too long, the lease is lost, whatever else arrives in the same
 * moment; a stepped wall clock makes it uncertain, since it may be the only trace of a machine that stood still.
 */
export function look(life: LeaseLife, now: Instant): LeaseLife {
  if (!isAlive(life)) return life;
  const overdue = overdueMs(life, now);
  const overheld = overheldMs(life, now);
  // After a freeze both may have passed: what passed first has ended it.
  if (Math.max(overdue, overheld) >= 0)
    return apply(life, { type: overheld < overdue ? 'deadline-passed' : 'max-hold-passed' }, now);
  const reference = life.doubt?.cause === 'clock-stepped' ? life.doubt.since : life.anchor;
  if (Math.abs(wallStepMs(reference, now)) <= life.wallToleranceMs) return life;
  return apply(life, { type: 'clock-stepped' }, now);
}

export function isAlive(life: LeaseLife): boolean {
  return life.state === 'held' || life.state === 'uncertain';
}

/** Milliseconds until the lease is given up; 0 when it has ended. */
export function remainingMs(life: LeaseLife, now: Instant): number {
  return isAlive(life) ? Math.max(0, Math.min(-overdueMs(life, now), -overheldMs(life, now))) : 0;
}

function overdueMs({ anchor, heldForMs }: LeaseLife, now: Instant): number {
  return elapsedMs(anchor, now) - heldForMs;
}

function overheldMs({ acquiredAt, maxHoldMs }: LeaseLife, now: Instant): number {
  return elapsedMs(acquiredAt, now) - maxHoldMs;
}

function apply<Type extends LeaseEvent['type']>(
  life: LeaseLife,
  event: EventOf<Type>,
  now: Instant,
): LeaseLife {
  const transition = transitions[life.state][event.type as Type] as Transition<Type>;
  return transition(life, event, now);
}
