import type { OnceRecord } from '../../once/index.js';
import { sayInstant } from '../display/instant.js';
import { sayAct } from '../display/record.js';
import { visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';

/** What stands under a key, as one phrase. A result is a payload of the program's, and not shown. */
export function sayKey(record: OnceRecord | undefined): string {
  if (record === undefined) return 'nothing is known of it';
  const { state, endedAtMs = record.deadlineAtMs, attempt } = record;
  const since = sayInstant(endedAtMs);
  switch (state) {
    case 'started':
      return `under way: ${sayBegun(record)}, and has ${sayDuration(record.remainingMs)} left`;
    case 'unknown':
      return `unknown since ${since}: ${sayBegun(record)}; ${visible(record.detail ?? 'why was not kept')}`;
    case 'done':
      return `done since ${since}, ${sayDecision(record) ?? `by attempt ${attempt} of ${visible(record.startedBy)}`}`;
    case 'free': {
      const why = sayDecision(record) ?? visible(record.detail ?? 'why was not kept');
      return `free since ${since}: attempt ${attempt} had no effect (${why})`;
    }
  }
}

function sayBegun({ startedBy, attempt, startedAtMs }: OnceRecord): string {
  return `${visible(startedBy)} began attempt ${attempt} at ${sayInstant(startedAtMs)}`;
}

/** Who decided about this very attempt; `undefined` if it ended by itself. */
function sayDecision({ settlements, attempt }: OnceRecord): string | undefined {
  const last = settlements.at(-1);
  return last?.attempt === attempt ? `settled ${sayAct(last)}` : undefined;
}

/**
 * A key, for programs, without its result. `...AtMs` are Unix times by the store's clock. What is not so is `null`.
 * Documented in `docs/cli.md`: fields are added, never changed.
 */
export function keyAsJson(record: OnceRecord | undefined): object | null {
  if (record === undefined) return null;
  const { key, state, attempt, startedBy, startedAtMs, deadlineAtMs, settlements } = record;
  return {
    ...{ key, state, attempt, startedBy, startedAtMs, deadlineAtMs },
    endedAtMs: record.endedAtMs ?? null,
    expiresAtMs: record.expiresAtMs ?? null,
    detail: record.detail ?? null,
    settlements: settlements.map(({ attempt: of, outcome, by, reason, atMs }) => {
      return { attempt: of, outcome, by, reason, atMs };
    }),
  };
}
