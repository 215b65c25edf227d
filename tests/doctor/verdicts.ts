import { describe, expect, it } from 'vitest';
import { type Check, judgeAll } from '../../src/doctor/check.js';
import type { Severity } from '../../src/doctor/finding.js';

/** What a check is to say of some facts, and a part of how. */
export interface VerdictCase<Facts> {
  readonly id: string;
  /** `undefined`: nothing, since it does not apply. `unseen`: that it could not look. */
  readonly verdict: Severity | 'unseen' | undefined;
  readonly facts: Facts;
  readonly ttlMs?: number;
  readonly says?: string;
}

/**
 * Judges each case, and demands that the cases together bring every check to each of the severities that it declares, and
 * to no other.
 */
export function describeVerdicts<Facts>(
  title: string,
  checks: readonly Check<Facts>[],
  cases: readonly VerdictCase<Facts>[],
): void {
  describe(title, () => {
    it.each(cases.map((one) => [one.id, one.verdict, one.says ?? '', one] as const))(
      '%s is %s: %s',
      (id, verdict, says, { facts, ttlMs = 30_000 }) => {
        const findings = judgeAll(checks, facts, { ttlMs, namespace: 'default' });
        const finding = findings.find((one) => one.id === id);
        expect(finding?.couldNotLook ? 'unseen' : finding?.severity).toBe(verdict);
        expect(finding?.seen ?? '').toContain(says);
        if (finding === undefined || finding.severity === 'ok') return;
        expect(finding.risk).toBeTruthy();
        expect(finding.remedy).toBeTruthy();
        expect(`${finding.seen}${finding.risk}${finding.remedy}`).not.toMatch(/\.$|undefined|NaN/);
      },
    );

    it.each(checks.map((check) => [check.id, check] as const))(
      'what %s may come to is all tried',
      (id, { severities }) => {
        const tried = cases.filter((one) => one.id === id).map(({ verdict }) => verdict);
        const declared = new Set<unknown>([...severities, 'ok']);
        const others = new Set<unknown>(['unseen', undefined]);
        expect(new Set(tried.filter((verdict) => !others.has(verdict)))).toEqual(declared);
      },
    );
  });
}
