import type { Finding, Purpose, Severity } from './finding.js';

/** One thing to judge, purely: facts in, a verdict out. A new check is one more of these in the list of its store. */
export interface Check<Facts> {
  readonly id: string;
  /** Which severities it may come to, besides `ok`: what `docs/doctor.md` lists. */
  readonly severities: readonly Exclude<Severity, 'ok'>[];
  /** What can happen if it is not so; a sentence without its full stop. */
  readonly risk: string;
  /** The command or setting that ends it, in general; a verdict may be more exact. */
  readonly remedy: string;
  /** `undefined`: it does not apply here. */
  judge(facts: Facts, purpose: Pick<Purpose, 'ttlMs' | 'namespace'>): Verdict | undefined;
}

export interface Verdict {
  readonly severity: Severity;
  readonly seen: string;
  readonly risk?: string;
  readonly remedy?: string;
  readonly couldNotLook?: true;
}

/** What is more exact in this case than the check says in general. */
type Besides = Pick<Verdict, 'risk' | 'remedy'>;

export const ok = (seen: string): Verdict => ({ severity: 'ok', seen });
export const note = (seen: string, besides: Besides = {}): Verdict => {
  return { severity: 'note', seen, ...besides };
};
export const warning = (seen: string, besides: Besides = {}): Verdict => {
  return { severity: 'warning', seen, ...besides };
};
export const critical = (seen: string, besides: Besides = {}): Verdict => {
  return { severity: 'critical', seen, ...besides };
};

/** What a look came to: the fact, or why it could not be had and what would have to be granted. */
export type Looked<Fact> =
  | { readonly fact: Fact }
  | { readonly because: string; readonly grant: string };

export const seen = <Fact>(fact: Fact): Looked<Fact> => ({ fact });
export const unseen = (because: string, grant: string) => ({ because, grant });

/** The fact, or `undefined` where it could not be looked at. */
export function factOf<Fact>(looked: Looked<Fact>): Fact | undefined {
  return 'fact' in looked ? looked.fact : undefined;
}

/** Judges what was seen; what could not be looked at is a finding of its own, never a failure. */
export function ifSeen<Fact>(
  looked: Looked<Fact>,
  judge: (fact: Fact) => Verdict | undefined,
): Verdict | undefined {
  if ('fact' in looked) return judge(looked.fact);
  return {
    severity: 'warning',
    seen: `could not look: ${looked.because}`,
    remedy: looked.grant,
    couldNotLook: true,
  };
}

/** @param at the server that the facts are about, where there are several. */
export function judgeAll<Facts>(
  checks: readonly Check<Facts>[],
  facts: Facts,
  purpose: Pick<Purpose, 'ttlMs' | 'namespace'>,
  at?: string,
): Finding[] {
  return checks.flatMap((check) => {
    const verdict = check.judge(facts, purpose);
    return verdict === undefined ? [] : [findingOf(check, verdict, at)];
  });
}

function findingOf(
  { id, risk, remedy }: Pick<Check<never>, 'id' | 'risk' | 'remedy'>,
  verdict: Verdict,
  at: string | undefined,
): Finding {
  const where = at === undefined ? {} : { at };
  const { severity, seen: text, couldNotLook } = verdict;
  if (severity === 'ok') return { id, severity, ...where, seen: text };
  return {
    id,
    severity,
    ...where,
    seen: text,
    risk: verdict.risk ?? risk,
    remedy: verdict.remedy ?? remedy,
    ...(couldNotLook && { couldNotLook }),
  };
}
