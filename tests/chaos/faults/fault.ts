import type { SeededRandom } from '../../support/fleet/random.js';
import type { FaultProxy } from '../../support/proxy.js';
import type { Crew, Seat } from '../crew.js';

/** Where something happens. */
export interface Scene {
  readonly crew: Crew;
  readonly ttlMs: number;
  /** The next time that somebody is elected; `false` if nobody is in time. */
  elected(withinMs: number): Promise<boolean>;
  proxiesOf(seat: Seat): readonly FaultProxy[];
}

/** One fault as it was drawn: data, from which what happens follows. Every fault is drawn with the same fields. */
export interface Step {
  readonly kind: string;
  /** Calm before it. */
  readonly pauseMs: number;
  /** In ttls: short ones must not end a term, long ones must. */
  readonly lastsTtls: number;
  readonly aim: 'leader' | 'waiting' | 'all';
  /** Picks among what there is: 0 to 1. */
  readonly place: number;
  /** How much of it: -1 to 1. */
  readonly amount: number;
}

/**
 * Begins a fault, and returns what ends it: everything is as it was then. Neither may fail because the store is gone, and
 * ending waits until the store is there again.
 */
export type Disturbance = (scene: Scene, step: Step) => Promise<() => Promise<void>>;

const aims: readonly Step['aim'][] = ['leader', 'leader', 'leader', 'waiting', 'all'];

/** @param random of this step alone, so that one step less leaves the others as they are */
export function drawStep(kind: string, random: SeededRandom, ttlMs: number): Step {
  const isLong = random.chance(0.6);
  return {
    kind,
    pauseMs: Math.round(random.between(0.1, 0.8) * ttlMs),
    lastsTtls: isLong ? random.between(1.2, 2.2) : random.between(0.1, 0.9),
    aim: random.pick(aims),
    place: random.next(),
    amount: random.between(-1, 1),
  };
}

/** Whom a step is aimed at. Somebody is hit, whoever leads. */
export function targetsOf({ crew }: Scene, { aim, place }: Step): Seat[] {
  const alive = crew.seats.filter(({ program, isFrozen }) => program.isRunning && !isFrozen);
  if (aim === 'all') return alive;
  const leader = crew.leader();
  const others = alive.filter((seat) => seat !== leader);
  if (aim === 'leader' && leader !== undefined && alive.includes(leader)) return [leader];
  const chosen = others[Math.floor(place * others.length)];
  return chosen === undefined ? [] : [chosen];
}
