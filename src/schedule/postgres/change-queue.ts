import type {
  PostgresClient,
  PostgresPoolHandle,
  PostgresSession,
} from '../../drivers/postgres/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { Step } from '../rules/steps.js';
import { Change } from './change.js';
import { type ChangeTexts, readerOf, type StandingRow } from './changes.js';
import { askTogether } from './messages.js';

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

/** A transaction locks so many jobs at most. */
const mostAtOnce = 50;

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
    void this.#serve(first.what).finally(() => {
      this.#count -= 1;
      this.#attend();
    });
  }

  /** Never rejects. */
  async #serve(what: string): Promise<void> {
    try {
      await this.#options.pool.withSession(what, async (session) => {
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
      for (const change of this.#waiting) change.fail(this.#options.explained(error));
    }
  }

  /** What waits, at most one change of each job, and the earliest one of it. */
  #take(): Change[] {
    const jobs = new Set(this.#busy);
    const batch: Change[] = [];
    const left: Change[] = [];
    for (const change of this.#waiting) {
      const { isOver, isAlone, step } = change;
      if (isOver) continue;
      const fits = batch.length === 0 || (!isAlone && batch[0]?.isAlone === false);
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
    const { runtime, texts, begin } = this.#options;
    const endMs = Math.max(...batch.map(({ endMs }) => endMs));
    const wholeMs = endMs - runtime.now().monotonicMs;
    const what = batch.length === 1 ? (batch[0] as Change).what : 'a write of jobs';
    const ask = (phase: 'transaction' | 'commit') => {
      const timeoutMs = Math.max(1, endMs - runtime.now().monotonicMs);
      return { ...{ runtime, phase, what, wholeMs }, timeoutMs };
    };
    for (const change of batch) change.begin();
    const asked = batch.map(({ step }) => step);
    const jobs = asked.map(({ job }) => job);
    const first = [begin(wholeMs), texts.lock(jobs), texts.standing(asked)];
    const [locked, standing] = (await askTogether(session, ask('transaction'), first)).slice(-2);
    const held = new Set((locked as { job: string }[]).map(({ job }) => job));
    const found = new Map((standing as StandingRow[]).map((row) => [row.job, row]));
    const decisions = batch.flatMap((change) => {
      const { job } = change.step;
      const row = found.get(job);
      if (row !== undefined && !held.has(job)) return this.#postpone(change);
      const decision = change.isOver ? undefined : change.decide(readerOf(row));
      return decision === undefined ? [] : [{ change, job, ...decision }];
    });
    const updates = decisions.flatMap(({ job, update }) =>
      update === undefined ? [] : [{ job, update }],
    );
    const last = updates.length === 0 ? ['ROLLBACK'] : [texts.write(updates), 'COMMIT'];
    await askTogether(session, ask(updates.length === 0 ? 'transaction' : 'commit'), last);
    for (const { change, answer } of decisions) change.answer(answer);
  }

  /** Somebody else has locked its job: it waits for that, and nobody waits with it. */
  #postpone(change: Change): [] {
    change.wait(true);
    this.#waiting.unshift(change);
    return [];
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
