import type {
  Ask,
  PostgresClient,
  PostgresPoolHandle,
  PostgresSession,
} from '../../drivers/postgres/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { Decision, Step } from '../rules/steps.js';
import { Change } from './change.js';
import { type ChangeTexts, readerOf, type StandingRow } from './changes.js';
import { askTogether, beginTogether, commitTogether } from './messages.js';

export interface ChangeQueueOptions {
  readonly runtime: Runtime;
  readonly pool: PostgresPoolHandle<PostgresClient>;
  readonly texts: ChangeTexts;
  /** So many transactions at once. */
  readonly limit: number;
  /** What begins a transaction that the server ends as well after so many milliseconds. */
  readonly begin: (timeoutMs: number) => string;
  /** What is told of a failure. */
  readonly explained: (error: unknown) => unknown;
}

/** What was found of the jobs of a batch. */
interface Found {
  /** Those that are locked. One that is there, and is not among them, somebody else has locked. */
  readonly held: ReadonlySet<string>;
  readonly rows: ReadonlyMap<string, StandingRow>;
}

interface Decided extends Decision<unknown> {
  readonly change: Change;
  readonly job: string;
}

/** How the messages of a transaction are asked, which has its time limit in common. */
interface Asking {
  readonly wholeMs: number;
  of(phase: 'transaction' | 'commit'): Ask;
}

/** A transaction locks so many jobs at most. */
const mostAtOnce = 50;

/** After a connection that could not be had, where another one works. */
const pauseMs = 100;

/**
 * Changes of jobs. Those that wait when a connection is free go together in one transaction of two messages, each of another
 * job: one begins, locks and reads; what follows from what was read is decided here, and the other one writes and commits.
 * So fifty runs that are due at once cost two round trips, however far the server is away.
 */
export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  #waiting: Change[] = [];
  /** Jobs of transactions that are under way: another change of theirs would only wait for a lock. */
  readonly #busy = new Set<string>();
  #count = 0;
  /** Waits for a connection. All that comes meanwhile goes with it. */
  #isOpening = false;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  add<Answer>(what: string, timeoutMs: number, step: Step<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const answer = (value: unknown) => resolve(value as Answer);
      const asked = { step, what, timeoutMs };
      const settle = { answer, fail: reject };
      this.#waiting.push(new Change(asked, this.#options.runtime, settle));
      this.#attend();
    });
  }

  #attend(): void {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
    const first = this.#waiting.find(({ step }) => !this.#busy.has(step.job));
    if (first === undefined || this.#isOpening || this.#count >= this.#options.limit) return;
    this.#isOpening = true;
    this.#count += 1;
    void this.#serve();
  }

  /** Never rejects. */
  async #serve(): Promise<void> {
    const waited = new Set(this.#waiting);
    try {
      await this.#options.pool.withSession(nameOf(this.#waiting), async (session) => {
        this.#isOpening = false;
        while (session.loss === undefined) {
          const batch = this.#take();
          if (batch.length === 0) break;
          await this.#execute(session, batch);
        }
        session.end(true);
      });
    } catch (error) {
      this.#isOpening = false;
      if (this.#count > 1) return this.#leaveToOthers();
      const failed = this.#waiting.filter((change) => waited.has(change));
      for (const change of failed) change.fail(this.#options.explained(error));
    }
    this.#count -= 1;
    this.#attend();
  }

  /** No further connection is to be had. Those that work serve what waits, and have time for it before the next is asked for. */
  #leaveToOthers(): void {
    this.#count -= 1;
    this.#options.runtime.setTimer(pauseMs, () => this.#attend(), { keepsProcessAlive: false });
  }

  /** What waits, at most one change of each job, and the earliest one of it. */
  #take(): Change[] {
    const nowMs = this.#options.runtime.now().monotonicMs;
    const jobs = new Set(this.#busy);
    const batch: Change[] = [];
    const left: Change[] = [];
    for (const change of this.#waiting) {
      change.expire(nowMs);
      const { isOver, goesAlone, step } = change;
      if (isOver) continue;
      const fits = batch.length === 0 || (!goesAlone && batch[0]?.goesAlone === false);
      if (fits && batch.length < mostAtOnce && !jobs.has(step.job)) batch.push(change);
      else left.push(change);
      jobs.add(step.job);
    }
    this.#waiting = left;
    return batch;
  }

  async #execute(session: PostgresSession<PostgresClient>, batch: Change[]): Promise<void> {
    for (const { step } of batch) this.#busy.add(step.job);
    // The others that wait need not wait for this one.
    this.#attend();
    try {
      await this.#transact(session, batch);
    } catch (error) {
      this.#failed(batch, error);
    } finally {
      for (const { step } of batch) this.#busy.delete(step.job);
    }
  }

  async #transact(session: PostgresSession<PostgresClient>, batch: Change[]): Promise<void> {
    for (const change of batch) change.begin();
    const asking = this.#asking(batch);
    const found = await this.#read(session, batch, asking);
    const decisions = this.#decide(batch, found);
    await this.#write(session, decisions, asking);
    for (const { change, answer } of decisions) change.answer(answer);
  }

  /** How long the transaction may take, and what it is called. */
  #asking(batch: readonly Change[]): Asking {
    const { runtime } = this.#options;
    const endMs = Math.max(...batch.map(({ endMs }) => endMs));
    const leftMs = () => Math.max(1, endMs - runtime.now().monotonicMs);
    const wholeMs = leftMs();
    const what = nameOf(batch);
    return { wholeMs, of: (phase) => ({ runtime, phase, what, wholeMs, timeoutMs: leftMs() }) };
  }

  /** Locks the jobs of a batch, and reads them. */
  async #read(
    session: PostgresSession<PostgresClient>,
    batch: readonly Change[],
    asking: Asking,
  ): Promise<Found> {
    const { texts, begin } = this.#options;
    const asked = batch.map(({ step }) => step);
    const jobs = asked.map(({ job }) => job);
    const first = [begin(asking.wholeMs), texts.lock(jobs), texts.standing(asked)];
    const answers = await beginTogether(session, asking.of('transaction'), first);
    const [locked, standing] = answers.slice(-2) as [{ job: string }[], StandingRow[]];
    return {
      held: new Set(locked.map(({ job }) => job)),
      rows: new Map(standing.map((row) => [row.job, row])),
    };
  }

  /** What follows for each; a change whose job somebody else has locked is put back. */
  #decide(batch: readonly Change[], { held, rows }: Found): Decided[] {
    const decisions: Decided[] = [];
    for (const change of batch) {
      const { job } = change.step;
      const row = rows.get(job);
      if (row !== undefined && !held.has(job)) {
        this.#postpone(change);
      } else if (!change.isOver) {
        const decision = change.decide(readerOf(row));
        if (decision !== undefined) decisions.push({ change, job, ...decision });
      }
    }
    return decisions;
  }

  /** Ends the transaction. */
  async #write(
    session: PostgresSession<PostgresClient>,
    decisions: readonly Decided[],
    asking: Asking,
  ): Promise<void> {
    const updates = decisions.flatMap(({ job, update }) =>
      update === undefined ? [] : [{ job, update }],
    );
    if (updates.length === 0) await askTogether(session, asking.of('transaction'), ['ROLLBACK']);
    else await commitTogether(session, asking.of('commit'), [this.#options.texts.write(updates)]);
  }

  /** It waits for whoever holds it up, and nobody waits with it. */
  #postpone(change: Change): void {
    change.waitAlone();
    this.#waiting.unshift(change);
  }

  /** What the server refuses of several may be the fault of one. */
  #failed(batch: Change[], error: unknown): void {
    const isRefused = error instanceof StoreRefusedError && batch.length > 1;
    for (const change of batch) {
      if (isRefused) this.#postpone(change);
      else change.fail(this.#options.explained(error));
    }
  }
}

/** What an error calls several of them. */
function nameOf(changes: readonly Change[]): string {
  const [first, ...others] = new Set(changes.map(({ what }) => what));
  return first === undefined || others.length > 0 ? 'a change of jobs' : first;
}
