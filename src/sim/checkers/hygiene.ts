import type { CallRecord } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/** By so much a call may overrun what it was allowed: a timer is no shorter than a millisecond. */
const toleranceMs = 5;

/** By this share two clocks may differ. */
const driftShare = 0.01;

/**
 * Every call settles by its deadline, and is not executed after it where the store has a clock; no rejection is left unhandled; after everything was closed, no process has a timer.
 */
export function hygieneChecker(): Checker {
  function check(bench: Bench, record: CallRecord): void {
    const { tookMs, timeoutMs = Number.POSITIVE_INFINITY, wasPaused, process, operation } = record;
    if (wasPaused || tookMs <= timeoutMs + toleranceMs) return;
    bench.violated(
      `${operation} of ${process} took ${tookMs.toFixed(1)} ms and was allowed ${timeoutMs.toFixed(1)} ms`,
    );
  }

  return {
    name: 'hygiene',
    attach(bench) {
      bench.witness.on('called', (record) => check(bench, record));
      bench.witness.on('executed', ({ process, operation, timeoutMs, lateMs }) => {
        if (lateMs > timeoutMs * driftShare + toleranceMs)
          bench.violated(
            `${operation} of ${process} was executed ${lateMs.toFixed(1)} ms after its deadline`,
          );
      });
    },
    atEnd(bench) {
      for (const { id, pendingTimerCount } of bench.processes) {
        if (pendingTimerCount > 0)
          bench.violated(`${id} has closed everything and ${pendingTimerCount} timers are left`);
      }
    },
  };
}
