import { parseWords } from '../../coordinators/redis/words.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { OnceRecord, OnceSettlement, OnceState } from '../records.js';
import { overdueDetail } from '../rules/decisions.js';

const states: readonly string[] = ['started', 'done', 'unknown', 'free'] satisfies OnceState[];
const settlementPattern = /^(\d{1,16})\|(done|not-applied|repeated)\|(\d{1,16})\|(.+)$/;

/** What the scripts return of a key. @throws {RecordCorruptError} if it cannot be read. `undefined`: there is none. */
export function parseRecord(
  fields: readonly string[],
  nowMs: number,
  where: string,
): OnceRecord | undefined {
  if (fields.length === 0) return undefined;
  const found = new Map<string, string>();
  for (let at = 0; at < fields.length; at += 2) found.set(fields[at] ?? '', fields[at + 1] ?? '');
  const text = (field: string): string => {
    const value = found.get(field);
    if (value === undefined) throw corrupt(where);
    return value;
  };
  const number = (field: string): number => {
    const value = text(field);
    if (!/^\d{1,16}$/.test(value)) throw corrupt(where);
    return Number(value);
  };
  const state = text('state');
  if (!states.includes(state)) throw corrupt(where);
  const deadlineAtMs = number('deadline');
  const isOverdue = state === 'started' && nowMs >= deadlineAtMs;
  const endedAtMs = isOverdue ? deadlineAtMs : found.has('ended') ? number('ended') : undefined;
  const detail = isOverdue ? overdueDetail : found.get('detail');
  const result = found.get('result');
  const startedAtMs = number('started');
  // More than its own time only a clock that was set back can have left it.
  const leftMs = Math.min(deadlineAtMs - nowMs, deadlineAtMs - startedAtMs);
  return {
    key: text('key'),
    state: isOverdue ? 'unknown' : (state as OnceState),
    attempt: number('attempt'),
    startedBy: text('by'),
    startedAtMs,
    deadlineAtMs,
    remainingMs: state === 'started' ? Math.max(0, leftMs) : 0,
    ...(endedAtMs !== undefined && { endedAtMs }),
    ...(found.has('expires') && { expiresAtMs: number('expires') }),
    ...(result !== undefined && { result }),
    ...(detail !== undefined && { detail }),
    settlements: parseSettlements(text('settlements'), where),
  };
}

function parseSettlements(text: string, where: string): OnceSettlement[] {
  const lines = text === '' ? [] : text.split('\n');
  return lines.map((line) => {
    const [, attempt, outcome, atMs, words = ''] = settlementPattern.exec(line) ?? [];
    const act = parseWords(words);
    if (act === undefined) throw corrupt(where);
    return {
      attempt: Number(attempt),
      outcome: outcome as OnceSettlement['outcome'],
      ...act,
      atMs: Number(atMs),
    };
  });
}

/** @param where the key as it is in the store, since that is what has to be looked at. */
export function corrupt(where: string): RecordCorruptError {
  return new RecordCorruptError(
    `what stands under "${where}" is no idempotency key that this version knows. It was left as it is, and its effect is not called: restore it, or remove it if the effect has surely not taken place.`,
  );
}
