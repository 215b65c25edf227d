import { type Deadline, LeaseNotFound } from '../../drivers/etcd/index.js';
import { OutcomeUnknownError, StoreRefusedError } from '../../errors/index.js';
import { type Instant, sleep } from '../../time/index.js';
import { type NameSnapshot, SnapshotLedger } from '../rules/snapshot.js';
import { closeOverdue, endLease } from './endings.js';
import type { Sought } from './own.js';
import { Planner } from './plan.js';
import { type KeyPart, Reader, type View } from './reader.js';
import type { Step, StepsParts } from './step.js';
import { leaderOf, snapshotOf } from './view.js';

/** Names that one transaction takes: each needs up to five comparisons or operations, of the 128 that there are. */
export const namesPerStep = 20;
export const namesPerReading = 40;
/** How long a step that met another one waits before it begins anew, at first. */
const conflictPauseMs = 5;

const usualParts: readonly KeyPart[] = ['queue', 'after', 'suspended', 'history'];
const partsOf: Readonly<Record<string, readonly KeyPart[]>> = {
  read: ['queue', 'after', 'suspended'],
  list: ['queue', 'after', 'suspended'],
  enroll: ['front', 'after', 'suspended'],
  withdraw: [],
  candidates: ['candidates'],
  called: ['queue', 'after', 'suspended', 'first'],
  readDocument: ['document'],
  writeDocument: ['document'],
};
/** What is answered without a word about the time that is left. */
const timeless = new Set(['renew', 'release', 'handoff', 'called', 'withdraw']);
const readings = new Set(['read', 'list', 'candidates', 'readDocument']);

/** How anything is changed: read, let the rules decide, write under the condition that what was read is so still. */
export class Steps {
  readonly #parts: StepsParts;
  readonly #reader: Reader;

  constructor(parts: StepsParts) {
    this.#parts = parts;
    this.#reader = new Reader(parts.client, parts.keys, parts.whereabouts);
  }

  view(
    names: readonly string[],
    operation: string,
    deadline: Deadline,
    sought?: ReadonlyMap<string, Sought>,
  ): Promise<View> {
    const parts = partsOf[operation] ?? usualParts;
    const candidates = operation === 'candidates' ? 'candidates' : 'leaders';
    const times = timeless.has(operation) ? 'none' : candidates;
    return this.#reader.read(names, { parts, times, what: operation, deadline, sought });
  }

  /** The names of a group. There may be more than one transaction can read: they are read in parts. */
  async group(group: string, operation: string, deadline: Deadline) {
    const names = await this.#reader.namesOf(group, operation, deadline);
    const snapshots = new Map<string, NameSnapshot>();
    for (let start = 0; start < names.length; start += namesPerReading) {
      const some = names.slice(start, start + namesPerReading);
      const view = await this.view(some, operation, deadline);
      for (const [name, snapshot] of snapshotsOf(view)) snapshots.set(name, snapshot);
    }
    const { wallMs } = this.#parts.client.runtime.now();
    return new SnapshotLedger(snapshots, { wallMs });
  }

  /**
   * Runs a step until nothing of what it read was changed meanwhile.
   *
   * @throws {StoreRefusedError} if that takes longer than the call.
   */
  async run<Answer>(step: Step<Answer>): Promise<Answer> {
    const { names, operation, deadline, execute, finish = (answer) => answer } = step;
    const { client, leases, voiding } = this.#parts;
    const since = client.runtime.now();
    let failedAt: Instant | undefined;
    let needsHistoryLease = false;
    let unknown: OutcomeUnknownError | undefined;
    for (let round = 0; ; round++) {
      try {
        // What this call has sent before is executed by now, or never.
        if (failedAt !== undefined) await voiding.of(failedAt, operation, deadline);
        const view = await this.view(names, operation, deadline, step.sought);
        const ledger = this.#ledgerOf(view);
        const answer = execute(ledger, view);
        const changes = ledger.changes();
        if (changes.size === 0 || readings.has(operation))
          return finish(answer, view.revision, view);
        const planner = new Planner({
          ...this.#parts,
          view,
          since,
          what: operation,
          deadline,
          offset: step.offset?.(view) ?? view.space.offset,
          isByHolder: operation === 'renew',
          needsHistoryLease,
        });
        const revision = await this.#write(await planner.plan(changes), view, operation, deadline);
        if (revision !== undefined) return finish(answer, revision, view);
      } catch (error) {
        if (error instanceof LeaseNotFound) {
          // Which one of those that it names, the server does not say.
          leases.forgetAll();
          needsHistoryLease = true;
        } else if (this.#mayLookAgain(error, operation, deadline)) {
          unknown = error;
          failedAt = client.runtime.now();
        } else throw unknown ?? error;
      }
      await this.#pause(round, operation, deadline, unknown);
    }
  }

  /** @returns the revision in which it was written; `undefined` if something has changed. */
  async #write(
    { compares, operations, effects }: Awaited<ReturnType<Planner['plan']>>,
    view: View,
    operation: string,
    deadline: Deadline,
  ): Promise<number | undefined> {
    const { client } = this.#parts;
    if (operations.length === 0) {
      for (const effect of effects) effect(view.revision);
      return view.revision;
    }
    const reply = await client.txn(compares, operations, operation, deadline);
    if (!reply.succeeded) return undefined;
    for (const effect of effects) effect(reply.revision);
    return reply.revision;
  }

  #ledgerOf(view: View): SnapshotLedger {
    const { wallMs } = view.facts;
    const snapshots = snapshotsOf(view);
    const ledger = new SnapshotLedger(snapshots, { wallMs });
    closeOverdue(ledger, view);
    this.#endOver(ledger, view);
    if (view.parts.includes('history')) return ledger;
    // Who has not read all that such an end compares and changes answers as if it were written, and does not write it.
    for (const [name, { record }] of ledger.changes())
      if (record !== undefined)
        snapshots.set(name, { ...snapshots.get(name), record: record.after });
    return new SnapshotLedger(snapshots, { wallMs });
  }

  /** What this coordinator knows to be over is so for its own calls, be its key there still. */
  #endOver(ledger: SnapshotLedger, { names, facts }: View): void {
    const { holdings } = this.#parts;
    for (const view of names.values()) {
      const holding = holdings.lastLeaseOf(view.name);
      const isOurs = leaderOf(view)?.kv.lease === holding?.leaseId;
      if (holding !== undefined && isOurs && holdings.isOver(holding))
        endLease(ledger, holding, facts.wallMs);
    }
  }

  /** Only an acquisition knows what it did before, by its attempt. */
  #mayLookAgain(
    error: unknown,
    operation: string,
    deadline: Deadline,
  ): error is OutcomeUnknownError {
    const { client } = this.#parts;
    const isOpen = error instanceof OutcomeUnknownError && operation === 'acquire';
    return isOpen && !client.isClosed && client.remainingMs(deadline) > conflictPauseMs;
  }

  async #pause(
    round: number,
    operation: string,
    deadline: Deadline,
    unknown: OutcomeUnknownError | undefined,
  ): Promise<void> {
    const { client } = this.#parts;
    const longestMs = conflictPauseMs * 2 ** Math.min(round, 4);
    const pauseMs = client.runtime.random() * longestMs;
    if (client.remainingMs(deadline) <= pauseMs) {
      if (unknown !== undefined) throw unknown;
      throw new StoreRefusedError(
        'CONTENDED',
        `${operation} met changes by others ${round + 1} times and ran out of time; nothing was executed. Try again.`,
      );
    }
    await sleep(client.runtime, pauseMs);
    client.throwIfClosed();
  }
}

function snapshotsOf(view: View): Map<string, NameSnapshot> {
  const snapshots = new Map<string, NameSnapshot>();
  for (const one of view.names.values()) snapshots.set(one.name, snapshotOf(one, view.facts));
  return snapshots;
}
