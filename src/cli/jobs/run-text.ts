import type { RunRecord } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';

const openStates: readonly string[] = ['running', 'waiting'];

export function hasEnded({ state }: RunRecord): boolean {
  return !openStates.includes(state);
}

const neverBegun: readonly string[] = ['skipped', 'withdrawn'];

/** How long a run took, or has taken by now; empty for one that never began. */
export function sayTook({ beganAtMs, endedAtMs, state }: RunRecord): string {
  return endedAtMs === undefined || neverBegun.includes(state)
    ? ''
    : sayDuration(endedAtMs - beganAtMs);
}

/** Its state, and since when or until when that is so: `waiting until 2026-11-29T21:14:03Z`. */
export function sayState({ state, retryAtMs, skippedCount }: RunRecord): string {
  if (state === 'waiting' && retryAtMs !== undefined)
    return `waiting until ${sayInstant(retryAtMs)}`;
  return state === 'skipped' && skippedCount !== undefined && skippedCount > 1
    ? `skipped (${skippedCount})`
    : state;
}

/** Why it is as it is: who asked for it and why, what its last failure was, who cancelled it. */
export function sayDetail(run: RunRecord): string {
  const { detail: raw = '', by, kind, state, failureCount } = run;
  const detail = visible(raw);
  if ((state === 'cancelled' || state === 'withdrawn') && by !== undefined)
    return `by ${visible(by)}: ${reasonIn(detail, by)}`;
  const what = state === 'succeeded' && failureCount > 0 ? `before: ${detail}` : detail;
  if (kind !== 'manual' || by === undefined) return what;
  const asked = `asked for by ${visible(by)}`;
  // Until an attempt fails, the detail is why it was asked for.
  return what === '' ? asked : `${asked}${failureCount > 0 ? ';' : ':'} ${what}`;
}

/** The error that the work was told to stop with says more than what is to be known here. */
function reasonIn(detail: string, by: string): string {
  const [, told] = detail.split(`cancelled by ${visible(by)}: `);
  return told?.replace(/\. Stop\.$/, '') ?? detail;
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
