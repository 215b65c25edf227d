import type { AcquireRequest, AcquireResult } from '../../coordinators/index.js';
import type { CallRecord } from '../witness.js';
import type { Bench, Checker } from './checker.js';

interface Granted {
  readonly term: number;
  readonly attempt: string;
  readonly answeredAtMs: number;
  /** The highest of all that were answered until then. */
  readonly highest: number;
}

/**
 * Terms are unique for each name and in real-time order: whoever asks after another one was answered gets a higher term, also
 * from itself. Only the same attempt, executed again, may get its term again.
 */
export function termsChecker(): Checker {
  const byName = new Map<string, Granted[]>();

  function check(bench: Bench, { args, outcome, sentAtMs, answeredAtMs }: CallRecord): void {
    if (!('value' in outcome)) return;
    const requests = args[0] as readonly AcquireRequest[];
    const results = outcome.value as readonly AcquireResult[];
    for (const [index, { name, attempt }] of requests.entries()) {
      const result = results[index];
      if (result?.outcome !== 'granted') continue;
      const { term } = result;
      const before = byName.get(name) ?? [];
      byName.set(name, before);
      const highest = before.at(-1)?.highest ?? 0;
      judge(bench, name, { term, attempt, answeredAtMs, highest }, before, sentAtMs);
      before.push({ term, attempt, answeredAtMs, highest: Math.max(highest, term) });
    }
  }

  function judge(
    bench: Bench,
    name: string,
    { term, attempt }: Granted,
    before: readonly Granted[],
    sentAtMs: number,
  ): void {
    if (bench.isExcused('terms')) return;
    const twin = before.find((one) => one.term === term && one.attempt !== attempt);
    if (twin !== undefined) bench.violated(`term ${term} of ${name} was granted twice`);
    const earlier = before.findLast(
      (one) => one.answeredAtMs < sentAtMs && one.attempt !== attempt,
    );
    if (earlier !== undefined && earlier.highest >= term)
      bench.violated(
        `term ${term} of ${name} was asked for after ${earlier.highest} had been granted, and is no higher`,
      );
  }

  return {
    name: 'terms',
    attach(bench) {
      bench.witness.on('called', (record) => {
        if (record.operation === 'acquire') check(bench, record);
      });
    },
  };
}
