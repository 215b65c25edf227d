import { redactSecrets, TenureError } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import type { JobChange } from '../contract.js';
import type { ResolvedJob } from '../definition.js';
import {
  type JobPause,
  longestDetailLength,
  type RunRecord,
  type RunRequest,
  type RunState,
  tickRunId,
} from '../records.js';
import type { Due, SkippedTicks } from '../rules/due.js';

/** Runs of a job as one leader writes them, under its name and term. */
export class RunDrafts {
  readonly #job: ResolvedJob;
  readonly #lease: Lease;

  constructor(job: ResolvedJob, lease: Lease) {
    this.#job = job;
    this.#lease = lease;
  }

  get #name(): string {
    return this.#job.definition.job;
  }

  /** A run that somebody asked for. */
  requested({ id, atMs, by, reason }: RunRequest, nowMs: number): JobChange {
    const begin: RunRecord = { ...this.#fresh(id, 'manual', atMs, nowMs), by, detail: reason };
    return { job: this.#name, begin, doneRequests: [id] };
  }

  /** The run of a tick, if there is one, and those before it that are skipped. */
  ticked({ tickMs, skipped, consideredToMs }: Due, nowMs: number, pause?: SeenPause): JobChange {
    const begin =
      tickMs === undefined
        ? undefined
        : this.#fresh(tickRunId(this.#name, tickMs), 'tick', tickMs, nowMs);
    return {
      job: this.#name,
      consideredToMs,
      ...(begin !== undefined && { begin }),
      ...(skipped !== undefined && { runs: [this.#skipped(skipped, nowMs, pause)] }),
    };
  }

  /** The next attempt of a run. */
  resumed(run: RunRecord, interruptionCount: number): RunRecord {
    const { retryAtMs: _, ...rest } = run;
    const attempt = run.attempt + 1;
    return this.#signed({ ...rest, state: 'running', attempt, interruptionCount });
  }

  ended(run: RunRecord, state: RunState, endedAtMs: number, why: EndFacts): RunRecord {
    const { retryAtMs: _, ...rest } = run;
    const { detail, by } = why;
    return this.#signed({
      ...{ ...rest, state, endedAtMs },
      ...(detail !== undefined && { detail: shortened(detail) }),
      ...(by !== undefined && { by }),
    });
  }

  /** Whether it was this leader that wrote a run last. */
  isOwn({ term, holderId }: RunRecord): boolean {
    return term === this.#lease.term && holderId === this.#lease.holder.id;
  }

  #fresh(id: string, kind: RunRecord['kind'], tickMs: number, nowMs: number): RunRecord {
    return this.#signed({
      ...{ id, job: this.#name, kind, tickMs, state: 'running' as const, beganAtMs: nowMs },
      ...{ attempt: 1, failureCount: 0, interruptionCount: 0 },
    });
  }

  #skipped(skipped: SkippedTicks, nowMs: number, pause: SeenPause | undefined): RunRecord {
    const { misfire } = this.#job.policy;
    const { fromMs, beforeMs, count } = skipped;
    return {
      ...this.#fresh(tickRunId(this.#name, fromMs), 'tick', fromMs, nowMs),
      ...{ state: 'skipped', attempt: 0, endedAtMs: nowMs },
      ...{ skippedBeforeMs: beforeMs, skippedCount: count },
      detail: shortened(`${whyLate(skipped, pause)} (misfire: ${misfire})`),
    };
  }

  #signed(run: Omit<RunRecord, 'term' | 'holderId'>): RunRecord {
    const { term, holder } = this.#lease;
    return { ...run, term, holderId: holder.id };
  }
}

/** A pause of the job, as far as this leader has seen it. */
export interface SeenPause extends JobPause {
  readonly untilMs: number;
}

function whyLate({ fromMs, beforeMs }: SkippedTicks, pause: SeenPause | undefined): string {
  if (pause === undefined || fromMs > pause.untilMs || beforeMs <= pause.atMs)
    return 'nobody began them in time';
  const paused = `the job was paused by ${pause.by}: ${pause.reason}`;
  return fromMs < pause.atMs ? `nobody began them in time, and then ${paused}` : paused;
}

/** What is told of an end. */
export interface EndFacts {
  readonly detail?: string;
  readonly by?: string;
}

export function skippedOf({ tickMs, skippedBeforeMs, skippedCount }: RunRecord): SkippedTicks {
  return { fromMs: tickMs, beforeMs: skippedBeforeMs ?? tickMs, count: skippedCount ?? 1 };
}

/** Of whatever was thrown: it need not be an error, nor have a text. */
export function detailOf(error: unknown): string {
  try {
    if (error instanceof TenureError) return `${error.code}: ${error.message}`;
    if (error instanceof Error) return String(error.message || error.name);
    return String(error);
  } catch {
    return 'it threw something that has no text';
  }
}

export function shortened(detail: string): string {
  const text = redactSecrets(detail);
  return text.length <= longestDetailLength ? text : `${text.slice(0, longestDetailLength - 1)}…`;
}
