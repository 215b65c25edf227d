import type { AcquireRequest, ReleaseRequest } from '../../coordinators/index.js';
import { OutcomeUnknownError } from '../../errors/index.js';
import type { CallRecord } from '../witness.js';
import type { Bench, Checker } from './checker.js';

interface Doubtful {
  readonly process: string;
  readonly names: string;
  readonly sinceMs: number;
}

/**
 * Unknown is an outcome of its own: who asked for a name and does not know whether it was granted takes that attempt back at
 * once, since nobody would use the grant and nobody else could have the name until it expired.
 */
export function unknownChecker(): Checker {
  const takenBack = new Set<string>();
  /** By attempt. */
  const doubtful = new Map<string, Doubtful>();

  function called(bench: Bench, { process, operation, args, outcome }: CallRecord): void {
    if (operation !== 'acquire' || !('error' in outcome)) return;
    if (!(outcome.error instanceof OutcomeUnknownError)) return;
    const requests = args[0] as readonly AcquireRequest[];
    const attempt = requests[0]?.attempt;
    if (attempt === undefined || takenBack.has(attempt)) return;
    const names = requests.map(({ name }) => name).join(', ');
    doubtful.set(attempt, { process, names, sinceMs: bench.nowMs() });
  }

  function calling({ operation, args }: Pick<CallRecord, 'operation' | 'args'>): void {
    if (operation !== 'release') return;
    for (const request of args[0] as readonly ReleaseRequest[]) {
      if (!('attempt' in request)) continue;
      takenBack.add(request.attempt);
      doubtful.delete(request.attempt);
    }
  }

  function judge(bench: Bench): void {
    for (const { process, names, sinceMs } of doubtful.values())
      if (sinceMs < bench.nowMs())
        bench.violated(
          `${process} does not know whether it was granted ${names}, and does not take it back`,
        );
  }

  return {
    name: 'unknown',
    attach(bench) {
      const { witness } = bench;
      witness.on('calling', (call) => {
        calling(call);
        judge(bench);
      });
      witness.on('called', (record) => called(bench, record));
      witness.on('crashed', ({ process }) => {
        for (const [attempt, one] of doubtful)
          if (one.process === process) doubtful.delete(attempt);
      });
    },
    atEnd: judge,
  };
}
