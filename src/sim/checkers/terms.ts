import type { AcquireRequest, AcquireResult } from '../../coordinators/index.js';
import type { CallRecord, SimEvents } from '../witness.js';
import type { Bench, Checker } from './checker.js';

interface Granted {
  readonly term: number;
  readonly attempt: string;
  readonly answeredAtMs: number;
  /** The highest of all that were answered until then. */
  readonly highest: number;
}

interface Known {
  readonly list: Granted[];
  /** By term. */
  readonly attempts: Map<number, string>;
}

/**
 * Terms are unique for each name and in real-time order: whoever asks after another one was answered gets a higher term, also
 * from itself. Only the same attempt, executed again, may get its term again. In the store's own view they rise from grant to
 * grant.
 */
export function termsChecker(): Checker {
  const byName = new Map<string, Known>();
  /** Of what the store granted, whether or not anybody heard of it. */
  const highestGranted = new Map<string, number>();
  let fallen: string | undefined;

  function check(bench: Bench, { args, outcome, sentAtMs, answeredAtMs }: CallRecord): void {
    if (!('value' in outcome)) return;
    const requests = args[0] as readonly AcquireRequest[];
    const results = outcome.value as readonly AcquireResult[];
    for (const [index, { name, attempt }] of requests.entries()) {
      const result = results[index];
      if (result?.outcome !== 'granted') continue;
      const { term } = result;
      const known: Known = byName.get(name) ?? { list: [], attempts: new Map() };
      byName.set(name, known);
      const highest = Math.max(known.list.at(-1)?.highest ?? 0, term);
      const granted = { term, attempt, answeredAtMs, highest };
      const twin = known.attempts.get(term);
      if (!bench.isExcused('terms')) judge(bench, name, granted, twin, known.list, sentAtMs);
      known.list.push(granted);
      known.attempts.set(term, attempt);
    }
  }

  function judge(
    bench: Bench,
    name: string,
    { term, attempt }: Granted,
    twin: string | undefined,
    before: readonly Granted[],
    sentAtMs: number,
  ): void {
    if (twin !== undefined && twin !== attempt)
      bench.violated(`term ${term} of ${name} was granted twice`);
    const earlier = before.findLast(
      (one) => one.answeredAtMs < sentAtMs && one.attempt !== attempt,
    );
    if (earlier !== undefined && earlier.highest >= term)
      bench.violated(
        `term ${term} of ${name} was asked for after ${earlier.highest} had been granted, and is no higher`,
      );
  }

  function changed({ name, before, after, cause }: SimEvents['changed']): void {
    if (cause === 'fault') highestGranted.delete(name);
    if (cause !== 'request' || after?.kind !== 'lease') return;
    if (before?.kind === 'lease' && before.attempt === after.attempt) return;
    const highest = highestGranted.get(name) ?? 0;
    if (after.term <= highest)
      fallen ??= `the store granted ${name} in term ${after.term} after ${highest}`;
    highestGranted.set(name, Math.max(highest, after.term));
  }

  /** Not at once: the store has to be done with the request before it can say what it does not promise. */
  function judgeFallen(bench: Bench): void {
    if (fallen !== undefined && !bench.isExcused('terms')) bench.violated(fallen);
    fallen = undefined;
  }

  return {
    name: 'terms',
    attach(bench) {
      bench.witness.on('changed', changed);
      bench.witness.on('executed', () => judgeFallen(bench));
      bench.witness.on('called', (record) => {
        if (record.operation === 'acquire') check(bench, record);
      });
    },
  };
}
