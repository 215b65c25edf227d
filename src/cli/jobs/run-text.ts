import type { RunRecord } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';

/** How long a run took, or has taken by now; empty for one that never began. */
export function sayTook({ beganAtMs, endedAtMs, state }: RunRecord): string {
  return endedAtMs === undefined || state === 'skipped' ? '' : sayDuration(endedAtMs - beganAtMs);
}

/** Its state, and since when or until when that is so: `waiting until 2026-11-29T21:14:03Z`. */
export function sayState({ state, retryAtMs, skippedCount }: RunRecord): string {
  if (state === 'waiting' && retryAtMs !== undefined)
    return `waiting until ${sayInstant(retryAtMs)}`;
  return state === 'skipped' && skippedCount !== undefined && skippedCount > 1
    ? `skipped (${skippedCount})`
    : state;
}

/** Why it is as it is: the last failure, who asked for it or cancelled it. */
export function sayDetail({ detail, by }: RunRecord): string {
  const who = by === undefined ? '' : `by ${visible(by)}`;
  if (detail === undefined) return who;
  return who === '' ? visible(detail) : `${who}: ${visible(detail)}`;
}

/**
 * A run, for programs. Terms are numbers; `...AtMs` are Unix times by the store's clock; `progress` is what
 * the work saved. What is not so, or not yet, is `null`.
 */
export function runAsJson(run: RunRecord): object {
  return {
    id: run.id,
    kind: run.kind,
    tickAtMs: run.tickMs,
    state: run.state,
    term: run.term,
    holderId: run.holderId,
    attempt: run.attempt,
    failureCount: run.failureCount,
    interruptionCount: run.interruptionCount,
    beganAtMs: run.beganAtMs,
    endedAtMs: run.endedAtMs ?? null,
    retryAtMs: run.retryAtMs ?? null,
    detail: run.detail ?? null,
    by: run.by ?? null,
    progress: progressOf(run),
    skippedBeforeAtMs: run.skippedBeforeMs ?? null,
    skippedCount: run.skippedCount ?? null,
  };
}

function progressOf({ progress }: RunRecord): unknown {
  if (progress === undefined) return null;
  try {
    return JSON.parse(progress);
  } catch {
    // Somebody else has written it; the rest can be shown all the same.
    return progress;
  }
}
