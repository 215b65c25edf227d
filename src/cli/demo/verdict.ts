import { shardOf } from '../../shards/index.js';
import type { Backlog, Published } from './gateway.js';
import type { MessageFacts } from './news.js';
import type { Answer } from './sink.js';

/** What the sink says about a run. It is judged by what was kept, not by what anybody tells. */
export interface Verdict {
  readonly publishedCount: number;
  readonly handledCount: number;
  /** Messages without an effect that the log still has for its workers. */
  readonly waitingCount: number;
  /** Messages that have no effect, and never will. */
  readonly lostCount: number;
  /** Effects beyond the first of a message. */
  readonly duplicateCount: number;
  /** Effects that came before that of an earlier message of the same customer. */
  readonly inversionCount: number;
  /** Effects of a customer whose work began before the one before had ended. */
  readonly overlapCount: number;
  /** Effects under a lower term than its shard had seen. */
  readonly staleCount: number;
  readonly refusedCount: number;
  /** Refused writes that are in the sink nevertheless. */
  readonly refusedButKeptCount: number;
  readonly holds: boolean;
}

/** @param answers in the order in which the sink kept them. */
export function judge(
  published: readonly Published[],
  answers: readonly Answer[],
  refused: readonly MessageFacts[],
  backlog: Backlog = new Map(),
): Verdict {
  const handled = new Set(answers.map(({ number }) => number));
  const waitingCount = countWaiting(published, handled, backlog);
  const counts = {
    publishedCount: published.length,
    handledCount: handled.size,
    waitingCount,
    lostCount: published.filter(({ number }) => !handled.has(number)).length - waitingCount,
    duplicateCount: answers.length - handled.size,
    inversionCount: countAgainst(answers, byCustomer, (before, { seq }) => seq <= before.seq),
    overlapCount: countAgainst(
      answers,
      byCustomer,
      (before, { begunAtMs }) => begunAtMs < before.finishedAtMs,
    ),
    staleCount: countAgainst(answers, byShard, (before, { term }) => term < before.term),
    refusedCount: refused.length,
    refusedButKeptCount: refused.filter((message) => isKept(message, answers)).length,
  };
  const { publishedCount, handledCount } = counts;
  const faultCount =
    counts.lostCount +
    counts.duplicateCount +
    counts.inversionCount +
    counts.overlapCount +
    counts.staleCount +
    counts.refusedButKeptCount;
  return { ...counts, holds: publishedCount === handledCount && faultCount === 0 };
}

/** Messages that may yet be handled: a customer's last ones, as many of each shard as the log still has. */
function countWaiting(
  published: readonly Published[],
  handled: ReadonlySet<number>,
  backlog: Backlog,
): number {
  const lastSeq = new Map<string, number>();
  for (const { customer, seq, number } of published) {
    if (handled.has(number)) lastSeq.set(customer, Math.max(seq, lastSeq.get(customer) ?? 0));
  }
  const possible = new Map<number, number>();
  for (const { customer, seq, number } of published) {
    const isPassedOver = seq < (lastSeq.get(customer) ?? 0);
    if (handled.has(number) || isPassedOver) continue;
    const shard = shardOf(customer);
    possible.set(shard, (possible.get(shard) ?? 0) + 1);
  }
  let count = 0;
  for (const [shard, most] of possible) count += Math.min(most, backlog.get(shard) ?? 0);
  return count;
}

const byCustomer = ({ customer }: Answer) => customer;
const byShard = ({ shard }: Answer) => String(shard);

/** How many answers are at odds with the one before them in their group. */
function countAgainst(
  answers: readonly Answer[],
  groupOf: (answer: Answer) => string,
  isAtOdds: (before: Answer, answer: Answer) => boolean,
): number {
  const latest = new Map<string, Answer>();
  let count = 0;
  for (const answer of answers) {
    const before = latest.get(groupOf(answer));
    if (before !== undefined && isAtOdds(before, answer)) count += 1;
    latest.set(groupOf(answer), answer);
  }
  return count;
}

function isKept({ number, term }: MessageFacts, answers: readonly Answer[]): boolean {
  return answers.some((answer) => answer.number === number && answer.term === term);
}
