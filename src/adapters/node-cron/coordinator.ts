import { validateName } from '../../coordinators/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError, isTransient, OptionError, StaleTermError } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { type Lease, Leases, type LeasesOptions } from '../../leases/index.js';
import {
  type JobChange,
  type JobStore,
  type JobView,
  type RunRecord,
  requireJobStore,
  tickRunId,
  validateJobName,
  type WriteResult,
} from '../../schedule/index.js';

export interface NodeCronOptions extends LeasesOptions {
  /** The group of the leases, one for each task: `<name>/<task>`. All replicas say the same. Default `node-cron`. */
  readonly name?: string;
  /** So many ended runs of each task are kept. 1 to 100,000; default 1,000. */
  readonly keepRuns?: number;
}

/** What `distributed` tasks of the package `node-cron` (4.2 and later) ask before each run. */
export interface NodeCronCoordinator extends AsyncDisposable {
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
  onComplete(key: string): Promise<void>;
  /**
   * The lease under which the task of this name runs here now; `undefined` if it does not. Pass it to the fence of whatever
   * the task writes to, and its `signal` to whatever it awaits.
   */
  leaseOf(task: string): Lease | undefined;
  /**
   * Waits for the runs that are under way: stop the tasks before. The store is left open. Never rejects; safe to call twice.
   */
  close(): Promise<void>;
}

/** A due time as node-cron writes it behind the name of its task. */
const slot = /^(.*):(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s;

const optionKeys: Known<NodeCronOptions> = {
  name: true,
  keepRuns: true,
  id: true,
  runtime: true,
  ttlMs: true,
  renewEveryMs: true,
  giveUpAfterMs: true,
  attemptTimeoutMs: true,
  renewFrom: true,
  stallLimitMs: true,
  onStall: true,
};

/**
 * Has each due time of a `distributed` task of `node-cron` run by one replica: `setRunCoordinator(nodeCronCoordinator(store))`.
 *
 * Each run is written, under the term of the task's lease, before the task begins, and there is one for a due time. So a
 * short task whose replicas fire two seconds apart runs once, and so does one whose replica freezes. A run that its process
 * left behind is `abandoned` when the next one begins: node-cron begins nothing late, and resumes nothing. If the store
 * gives no answer, nothing runs.
 *
 * The task needs a `name`. What `tenure jobs history` shows is whether it ran and for how long, not whether it threw: node-cron
 * does not say.
 *
 * @throws {OptionError} for what is no store of jobs, or a bad option.
 */
export function nodeCronCoordinator(
  store: JobStore,
  options: NodeCronOptions = {},
): NodeCronCoordinator {
  return new Coordinator(requireJobStore(store), requireKnown('options', options, optionKeys));
}

interface Running {
  readonly lease: Lease;
  readonly run: RunRecord;
  /** It runs no more. */
  readonly end: () => void;
}

class Coordinator implements NodeCronCoordinator {
  readonly #store: JobStore;
  readonly #leases: Leases;
  readonly #name: string;
  readonly #keepRuns: number;
  readonly #running = new Map<string, Running>();
  readonly #endings = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(
    store: JobStore,
    { name = 'node-cron', keepRuns = 1_000, ...leases }: NodeCronOptions,
  ) {
    this.#store = store;
    this.#name = validateName(name);
    if (!Number.isSafeInteger(keepRuns) || keepRuns < 1 || keepRuns > 100_000) {
      const remedy = 'use a whole number from 1 to 100000';
      throw new OptionError('keepRuns', keepRuns, 'is out of range', remedy);
    }
    this.#keepRuns = keepRuns;
    this.#leases = new Leases(store.coordinator, leases);
  }

  async shouldRun(key: string): Promise<boolean> {
    if (this.#closing !== undefined) throw new ClosedError('this coordinator of node-cron');
    const { task, tickMs } = parse(key);
    const lease = await this.#leases.acquire(`${this.#name}/${task}`);
    if (lease === undefined) return false;
    let run: RunRecord | undefined;
    try {
      run = await this.#begin(lease, task, tickMs);
      // What was written while the lease was lost is for whoever has it now to abandon.
      if (run !== undefined) lease.assertHeld();
    } catch (error) {
      await lease.release();
      throw error;
    }
    if (run === undefined) {
      await lease.release();
      return false;
    }
    const ended = new Promise<void>((end) => {
      this.#running.set(key, { lease, run, end });
      // Nobody waits for a task whose lease has ended: it keeps nothing from anybody.
      onAbort(lease.signal, end);
      if (lease.signal.aborted) end();
    });
    this.#endings.add(ended);
    void ended.then(() => this.#endings.delete(ended));
    return true;
  }

  async onComplete(key: string): Promise<void> {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    const { lease, run, end } = running;
    try {
      const { nowMs } = await this.#store.look([run.job], this.#call);
      const ended: RunRecord = { ...run, state: 'succeeded', endedAtMs: nowMs };
      await this.#store.write(lease, { job: run.job, runs: [ended] }, this.#call);
    } finally {
      await lease.release();
      end();
    }
  }

  leaseOf(task: string): Lease | undefined {
    const running = [...this.#running.values()].find(({ run }) => run.job === task);
    return running?.lease;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // A lease that were given back before would let a successor begin beside a task that still runs.
    await Promise.all(this.#endings);
    await this.#leases.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @returns the run if it is this process's to run; `undefined` if it was begun before, or the task is paused. */
  async #begin(lease: Lease, task: string, tickMs: number): Promise<RunRecord | undefined> {
    // When it is due says node-cron, whose expression is not known here.
    const definition = { job: task, cron: '', timeZone: 'UTC' };
    const [claim] = await this.#store.claim(lease, [definition], undefined, this.#call);
    if (claim?.outcome === 'refused')
      throw new StaleTermError(lease.name, lease.term, claim.installedTerm);
    if (claim?.outcome === 'corrupt') throw claim.error;
    if (claim?.outcome !== 'claimed') {
      const remedy = 'give this task, or that job, another name';
      throw new OptionError('name', task, `is a job of the election "${claim?.election}"`, remedy);
    }
    const { view } = claim;
    // A replica whose clock is behind asks late; what it asks for may have been pruned by now.
    if (view.latest !== undefined && view.latest.tickMs > tickMs) return undefined;
    const { nowMs } = await this.#store.look([task], this.#call);
    const run = begun(lease, task, tickMs, nowMs);
    const change: JobChange = {
      ...{ job: task, begin: run, runs: abandoned(view, lease, nowMs) },
      keepRuns: this.#keepRuns,
    };
    const result = await this.#writeTwice(lease, change);
    switch (result.outcome) {
      case 'refused':
        throw new StaleTermError(lease.name, lease.term, result.installedTerm);
      case 'written':
        return run;
      case 'exists':
        // From the first of two writes, whose answer was lost: no other run was begun under this term.
        return result.run.term === lease.term && result.run.holderId === lease.holder.id
          ? result.run
          : undefined;
      case 'paused':
      case 'withdrawn':
        return undefined;
    }
  }

  /** Repeated once if no answer came: a run is begun once, however often that is asked for. */
  async #writeTwice(lease: Lease, change: JobChange): Promise<WriteResult> {
    try {
      return await this.#store.write(lease, change, this.#call);
    } catch (error) {
      if (!isTransient(error)) throw error;
      lease.assertHeld();
      return await this.#store.write(lease, change, this.#call);
    }
  }

  get #call(): { readonly timeoutMs: number } {
    return { timeoutMs: this.#leases.timing.attemptTimeoutMs };
  }
}

function parse(key: string): { readonly task: string; readonly tickMs: number } {
  const [, task = '', time = ''] = slot.exec(key) ?? [];
  if (task === '' || task === 'undefined')
    throw new OptionError('name', key, 'is not that of a task', 'give the distributed task a name');
  return { task: validateJobName(task), tickMs: Date.parse(time) };
}

function begun({ term, holder }: Lease, job: string, tickMs: number, nowMs: number): RunRecord {
  return {
    ...{ id: tickRunId(job, tickMs), job, kind: 'tick', tickMs, state: 'running' },
    ...{ term, holderId: holder.id, attempt: 1, failureCount: 0, interruptionCount: 0 },
    beganAtMs: nowMs,
  };
}

/** What an earlier term left behind: whoever had it has lost its lease, or it would be held. */
function abandoned({ open }: JobView, { term, holder }: Lease, nowMs: number): RunRecord[] {
  return open.map((run) => ({
    ...run,
    ...{ state: 'abandoned', term, holderId: holder.id, endedAtMs: nowMs },
    detail: 'its process ended, or lost its term; what it has done is unknown',
  }));
}
