import type {
  Candidate,
  EndResult,
  EnrollResult,
  LeaseRecord,
  RenewResult,
} from '../../../coordinators/index.js';
import { mergeCandidates, middleOf } from '../../../coordinators/redis-quorum/merge/candidates.js';
import { mergeViews, type Quota } from '../../../coordinators/redis-quorum/merge/records.js';
import { mergeEnd, mergeRenewal } from '../../../coordinators/redis-quorum/merge/refusals.js';
import type { GroupListing } from '../../../coordinators/rules/standing.js';

type View = LeaseRecord | undefined;

/** What the answers of single nodes mean together; `undefined`: too few answered to tell. */
type Merge = (answers: readonly never[], quota: Quota) => { readonly value: unknown } | undefined;

/** By operation. Those of a batch stand in the order of its requests. */
export const merges: Readonly<Record<string, Merge>> = {
  renew: (answers: readonly RenewResult[][], quota) =>
    each(answers, (one) => mergeRenewal(one.map(outcomeOf), quota)),
  release: (answers: readonly EndResult[][], quota) =>
    each(answers, (one) => mergeEnd(one.map(outcomeOf), quota, false)),
  handoff: (answers: readonly EndResult[][], quota) =>
    each(answers, (one) => mergeEnd(one.map(outcomeOf), quota, true)),
  read: (answers: readonly View[][], quota) => ({
    value: answers[0]?.map((_, index) =>
      mergeViews(
        answers.map((one) => one[index]),
        quota,
      ),
    ),
  }),
  list: (answers: readonly GroupListing[], quota) => {
    const lists = answers.map(({ records }) => records);
    const names = new Set(lists.flatMap((one) => one.map(({ name }) => name)));
    const records = [...names].sort().flatMap((name) => {
      const shown = lists.map((one) => one.find((record) => record.name === name));
      return mergeViews(shown, quota) ?? [];
    });
    const foreignNames = [...new Set(answers.flatMap((one) => one.foreignNames))].sort();
    return { value: { records, foreignNames } satisfies GroupListing };
  },
  enroll: (answers: readonly EnrollResult[][], quota) =>
    each(answers, (one) => {
      const places = one.flatMap(({ position }) => (position === undefined ? [] : [position]));
      return {
        position: places.length > 0 ? middleOf(places) : undefined,
        current: mergeViews(
          one.map(({ current }) => current),
          quota,
        ),
        duplicate: one.some(({ duplicate }) => duplicate),
      };
    }),
  withdraw: () => ({ value: undefined }),
  candidates: (answers: readonly Candidate[][], quota) => ({
    value: mergeCandidates(answers, quota),
  }),
  revoke: (answers: readonly View[], quota) => ({ value: mergeViews(answers, quota) }),
  suspend: (answers: readonly View[], quota) => ({ value: mergeViews(answers, quota) }),
  resume: (answers: readonly boolean[]) => ({ value: answers.some((one) => one) }),
  history: (answers: readonly (readonly unknown[])[]) => ({
    value: [...answers].sort((one, other) => other.length - one.length)[0] ?? [],
  }),
};

function each<Answer, Merged>(
  answers: readonly Answer[][],
  merge: (one: Answer[]) => Merged | undefined,
): { readonly value: Merged[] } | undefined {
  const merged = (answers[0] ?? []).map((_, index) =>
    merge(answers.map((one) => one[index] as Answer)),
  );
  return merged.some((one) => one === undefined) ? undefined : { value: merged as Merged[] };
}

function outcomeOf<Result extends RenewResult | EndResult>(result: Result) {
  return result.outcome === 'not-yours' ? result.reason : result.outcome;
}
