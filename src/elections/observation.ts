import type { Holder, LeaseRecord, Revocation } from '../coordinators/index.js';
import { elapsedMs, type Instant } from '../time/index.js';
import { type Json, parseMetadata } from './metadata.js';

/*
 * What an observer may say, as a pure function of what the store answered and of how long ago it was asked. It never
 * says more than it knows: every answer is good for a while, and after that the observer is unsure.
 */

/** Who leads, as far as an observer knows. */
export type Leadership = SureLeadership | UnsureLeadership;

export type SureLeadership = LedLeadership | NobodyLeadership;

/** Somebody leads. */
export interface LedLeadership {
  readonly state: 'led';
  readonly holderId: string;
  /** Never lower than in any state before. */
  readonly term: number;
  /** What the leader says about itself; `undefined` if nothing, or no JSON. */
  readonly metadata: Json | undefined;
  /** Whether the record is this process's. To know whether it may act, it asks its lease, not the record. */
  readonly isSelf: boolean;
}

/** Nobody leads; why, and for whom or since when. */
export type NobodyLeadership = { readonly state: 'nobody' } & (
  | { readonly because: 'free' }
  | { readonly because: 'reserved'; readonly to: string }
  | { readonly because: 'lock-delay'; readonly afterTerm: number }
  | {
      readonly because: 'suspended';
      readonly suspension: Revocation;
      /** The revoked term, as long as its holder may still believe in it. */
      readonly ending: { readonly holderId: string; readonly term: number } | undefined;
    }
);

/** The observer does not know any more, or not yet. */
export interface UnsureLeadership {
  readonly state: 'unsure';
  /**
   * `unreachable`: the store gave no answer. `corrupt`: it answers with something that is no record, which somebody else
   * wrote under the name. `outdated`: its last answer is too old to go by. `term-fell`: it answers with a lower term than
   * it did before, so it has lost data.
   */
  readonly because: ReadFailure | 'outdated' | 'term-fell';
  /** The last that was known, which may be wrong by now. */
  readonly last: SureLeadership | undefined;
}

export type ReadFailure = 'unreachable' | 'corrupt';

export interface Knowledge {
  /** The last answer and when it was asked for: the store's validity began then or later. */
  readonly answer: Answer | undefined;
  /** How reads have failed since; `undefined`: they have not. */
  readonly failure: ReadFailure | undefined;
  /** The highest term that was ever seen, in whatever state. */
  readonly highestTerm: number;
  readonly last: SureLeadership | undefined;
}

interface Answer {
  readonly leadership: SureLeadership | 'term-fell';
  readonly sentAt: Instant;
  /** The answer is good for so long after it was asked for. */
  readonly validForMs: number;
  /** Whether it is good only as long as reads succeed: nothing keeps somebody from being elected in the next moment. */
  readonly isOpen: boolean;
}

export const nothingKnown: Knowledge = {
  answer: undefined,
  failure: undefined,
  highestTerm: 0,
  last: undefined,
};

/** Nothing is believed that was known before a pause; but terms still may not fall. */
export function forget({ highestTerm }: Knowledge): Knowledge {
  return { ...nothingKnown, highestTerm };
}

/** The store has answered. What has no end of its own is good for `staleAfterMs`. */
export function learn(
  knowledge: Knowledge,
  record: LeaseRecord | undefined,
  asked: { readonly sentAt: Instant; readonly self: Holder; readonly staleAfterMs: number },
): Knowledge {
  const term = termOf(record);
  const fell = term !== undefined && term < knowledge.highestTerm;
  const leadership = fell ? 'term-fell' : leadershipOf(record, asked.self);
  const closedForMs = closedFor(record);
  return {
    answer: {
      leadership,
      sentAt: asked.sentAt,
      validForMs: closedForMs ?? asked.staleAfterMs,
      isOpen: closedForMs === undefined,
    },
    failure: undefined,
    highestTerm: Math.max(knowledge.highestTerm, term ?? 0),
    last: leadership === 'term-fell' ? knowledge.last : leadership,
  };
}

/** The store has not answered, or with something that is no record. */
export function fail(knowledge: Knowledge, failure: ReadFailure): Knowledge {
  return { ...knowledge, failure };
}

/** What may be said at `now`; `undefined` before the first read has ended. */
export function look(knowledge: Knowledge, now: Instant): Leadership | undefined {
  const { answer, failure, last } = knowledge;
  if (answer === undefined) return failure && { state: 'unsure', because: failure, last };
  if (answer.isOpen && failure) return { state: 'unsure', because: failure, last };
  if (validForMs(knowledge, now) <= 0)
    return { state: 'unsure', because: failure ?? 'outdated', last };
  if (answer.leadership === 'term-fell') return { state: 'unsure', because: 'term-fell', last };
  return answer.leadership;
}

/** Milliseconds for which the last answer is still good; 0 if it is not, or there is none. */
export function validForMs({ answer }: Knowledge, now: Instant): number {
  return answer === undefined ? 0 : Math.max(0, answer.validForMs - elapsedMs(answer.sentAt, now));
}

/** Whether there is nothing new in `other`. Not knowing is one state, however it came about. */
export function isSame(one: Leadership | undefined, other: Leadership): boolean {
  if (one?.state === 'unsure' && other.state === 'unsure') return true;
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

function leadershipOf(record: LeaseRecord | undefined, self: Holder): SureLeadership {
  switch (record?.state) {
    case undefined:
      return { state: 'nobody', because: 'free' };
    case 'held': {
      const { holder, term, metadata } = record;
      const said = parseMetadata(metadata);
      const isSelf = holder.equals(self);
      return { state: 'led', holderId: holder.id, term, metadata: said, isSelf };
    }
    case 'reserved':
      return { state: 'nobody', because: 'reserved', to: record.to };
    case 'lock-delay':
      return { state: 'nobody', because: 'lock-delay', afterTerm: record.term };
    case 'suspended': {
      const { suspension, ending } = record;
      const revoked = ending && { holderId: ending.holder.id, term: ending.term };
      return { state: 'nobody', because: 'suspended', suspension, ending: revoked };
    }
  }
}

function termOf(record: LeaseRecord | undefined): number | undefined {
  if (record?.state === 'suspended') return record.ending?.term;
  return record?.term;
}

/** For how long the store elects nobody else, unless somebody gives something up. */
function closedFor(record: LeaseRecord | undefined): number | undefined {
  return record?.state === 'held' || record?.state === 'lock-delay'
    ? record.remainingMs
    : undefined;
}
