import type { Election } from '../elections/index.js';
import type { Leases } from '../leases/index.js';
import { sleep } from '../time/index.js';
import type { JobStore } from './contract.js';
import { leadershipOf } from './job-listing.js';

export interface LeftOut {
  readonly election: string;
  readonly leaderId: string;
  readonly jobs: readonly string[];
}

export interface StandbyOptions {
  readonly store: JobStore;
  readonly election: Election;
  readonly leases: Leases;
  /** The jobs that are defined here. */
  readonly jobs: readonly string[];
  /** Once for each term of a leader. */
  readonly leftOut: (event: LeftOut) => void;
}

const lookEveryMs = 60_000;

/** Jobs that a leader does not run. */
interface Suspicion {
  readonly leaderId: string;
  readonly term: number;
  readonly jobs: readonly string[];
}

/**
 * Looks now and then, while this process does not lead, whether whoever does runs its jobs. Of two applications whose schedules
 * have one name, one leads, and the jobs of the other never run.
 *
 * A leader that was elected a moment ago has claimed nothing yet, and has a ttl for it: only what it still leaves out a ttl after
 * it was seen to is told. That a store gives no answer is told by the campaign.
 */
export class Standby {
  readonly #options: StandbyOptions;
  #toldTerm: number | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  /** Until `signal` aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    const { runtime, timing } = this.#options.leases;
    let before: Suspicion | undefined;
    await sleep(runtime, timing.ttlMs, signal);
    while (!signal.aborted) {
      const now = await this.#look().catch(() => undefined);
      if (signal.aborted) return;
      const isNew = now !== undefined && now.term !== this.#toldTerm;
      if (isNew && now.term === before?.term) this.#tell(now, before);
      before = isNew && now.term !== this.#toldTerm ? now : undefined;
      await sleep(runtime, before === undefined ? lookEveryMs : timing.ttlMs, signal);
    }
  }

  #tell({ leaderId, term, jobs }: Suspicion, before: Suspicion): void {
    const { election, leftOut } = this.#options;
    const still = jobs.filter((job) => before.jobs.includes(job));
    if (still.length === 0) return;
    this.#toldTerm = term;
    leftOut({ election: election.name, leaderId, jobs: still });
  }

  /** What somebody else who leads does not run; a job that cannot be read is told by the leader. */
  async #look(): Promise<Suspicion | undefined> {
    const { store, election, leases, jobs } = this.#options;
    if (election.current !== undefined) return undefined;
    const call = { timeoutMs: leases.timing.attemptTimeoutMs };
    const view = await store.look(jobs, call);
    const names = [...new Set([election.name, ...view.jobs.map((one) => one.record.election)])];
    const records = await store.coordinator.read(names, call);
    const leader = records[0];
    if (leader?.state !== 'held' || leader.holder.id === leases.holder.id) return undefined;
    const run = new Set(view.corrupt.map(({ job }) => job));
    for (const one of view.jobs) {
      const leadership = leadershipOf(one, records[names.indexOf(one.record.election)]);
      if (leadership === 'led' || leadership === 'external') run.add(one.record.job);
    }
    const left = jobs.filter((job) => !run.has(job));
    const { holder, term } = leader;
    return left.length === 0 ? undefined : { leaderId: holder.id, term, jobs: left };
  }
}
