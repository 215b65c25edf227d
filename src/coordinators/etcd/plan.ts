import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import { RecordCorruptError, StoreRefusedError } from '../../errors/index.js';
import { type HistoryEntry, historyLifeMs } from '../history.js';
import type { StoredLease } from '../rules/record.js';
import type { NameChange } from '../rules/snapshot.js';
import { Draft, type Plan, type PlanOptions } from './draft.js';
import { EntryPlan } from './plan-entries.js';
import { isGrant, RecordPlan } from './plan-records.js';
import { longestTxn } from './reader.js';
import { StoreLeases } from './store-leases.js';
import { write } from './values.js';
import { leaderOf, type NameView, waitersOf } from './view.js';

/** Histories of a day share a store lease of this life: one more day, since the last line may be written at its end. */
const historyLeaseAgeMs = 24 * 60 * 60 * 1000;

/** The `storeCode` of a step that is more than one transaction takes. */
const tooManyWaiters = 'TOO_MANY_WAITERS';

export function isTooMuch(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === tooManyWaiters;
}

export function foreignSpace(key: string): string {
  return `what the namespace counts its terms from (the key "${key}") was written by somebody else, so no term is granted. Write there what stood there before, or use a new namespace.`;
}

/** Makes of what the rules changed one conditional transaction. */
export class Planner {
  readonly #draft: Draft;
  readonly #records: RecordPlan;
  readonly #entries: EntryPlan;
  #historyLease: string | undefined;
  #writesSpace = false;

  constructor(options: PlanOptions) {
    this.#draft = new Draft(options);
    this.#records = new RecordPlan(this.#draft);
    this.#entries = new EntryPlan(this.#draft);
  }

  /** @throws {StoreRefusedError} if it is more than a server takes in one transaction. */
  async plan(changes: ReadonlyMap<string, NameChange>): Promise<Plan> {
    const { view, offset, what } = this.#draft.options;
    const grants = [...changes.values()].some(({ record }) => isGrant(record));
    const hasHistory = [...changes.values()].some(({ history }) => history !== undefined);
    if (hasHistory) await this.#prepareHistory();
    // What lets somebody in can be made void by writing that key.
    const letsIn = grants || what === 'enroll';
    if (letsIn || this.#writesSpace || offset !== view.space.offset) this.#compareSpace();
    if (this.#writesSpace || offset !== view.space.offset) this.#writeSpace();
    for (const [name, change] of changes) {
      const nameView = view.names.get(name);
      if (nameView !== undefined) await this.#planName(nameView, change);
    }
    const { compares, operations } = this.#draft.plan;
    if (Math.max(compares.length, operations.length) > longestTxn) {
      throw new StoreRefusedError(
        tooManyWaiters,
        `a step would take ${operations.length} operations, and a transaction of etcd takes ${longestTxn}: too many candidates of other programs and of tenure wait for one name.`,
      );
    }
    return this.#draft.plan;
  }

  async #planName(view: NameView, change: NameChange): Promise<void> {
    if (change.candidates !== undefined) await this.#entries.plan(view, change.candidates.after);
    const isMore = change.record ?? change.suspension ?? change.history ?? change.document;
    if (isMore === undefined) return;
    this.#compare(view, change);
    if (change.record !== undefined)
      await this.#records.plan(view, change.record.before, change.record.after);
    if (change.suspension !== undefined) this.#planSuspension(view, change);
    if (change.history !== undefined) this.#planHistory(view, change);
    if (change.document !== undefined) {
      const key = this.#draft.keys.part('document', view.name);
      this.#draft.put(key, write(change.document.after), '0');
    }
  }

  /** That nothing which was read of the name, and matters, has changed, and nothing was added. */
  #compare(view: NameView, { record }: NameChange): void {
    const { compares } = this.#draft.plan;
    const { parts, revision } = this.#draft.options.view;
    const { name } = view;
    const single = (part: 'after' | 'suspended' | 'history' | 'document', kv?: EtcdKeyValue) => {
      if (parts.includes(part)) this.#draft.expect(this.#draft.keys.part(part, name), kv);
    };
    const leader = leaderOf(view);
    // What somebody does with the lease of a leader of ours, who enters or leaves behind it does not hinder.
    const isAtLeader = leader?.value?.state === 'leads' && !isGrant(record);
    if (parts.includes('queue') && !isAtLeader)
      compares.push({ range: this.#draft.keys.queue(name), modBelow: revision + 1 });
    if (leader !== undefined) this.#draft.expect(leader.kv.key, leader.kv);
    single('after', view.after);
    single('suspended', view.suspended);
    single('history', view.historyKey);
    single('document', view.document);
  }

  #planSuspension(view: NameView, { suspension }: NameChange): void {
    const key = this.#draft.keys.part('suspended', view.name);
    if (suspension?.after !== undefined) this.#draft.put(key, write(suspension.after), '0');
    else if (view.suspended !== undefined) this.#draft.delete({ key });
  }

  #planHistory(view: NameView, { record, history }: NameChange): void {
    const granted = isGrant(record) && record?.after?.kind === 'lease' ? record.after : undefined;
    const lines = (history?.after ?? []).map((line) => this.#lineText(view, line, granted));
    const key = this.#draft.keys.part('history', view.name);
    this.#draft.put(key, write({ lines }), this.#historyLease ?? '0');
  }

  /** The number of a term that begins in this same step is the revision of it, which nobody knows yet. */
  #lineText(view: NameView, line: HistoryEntry, granted: StoredLease | undefined): object {
    if (line.kind === 'act' || line.endedAtMs !== undefined) return line;
    if (line.term !== granted?.term) return { ...line, lease: view.history.leases[line.term] };
    const lease = this.#draft.options.leases.current(StoreLeases.seconds(granted.ttlMs));
    const own = waitersOf(view).find(({ holder }) => holder.equals(granted.holder));
    if (own !== undefined)
      return { ...line, term: own.kv.createRevision + this.#draft.options.offset, lease };
    return { ...line, term: null, offset: this.#draft.options.offset, lease };
  }

  async #prepareHistory(): Promise<void> {
    const { space, facts } = this.#draft.options.view;
    const ageMs = facts.wallMs - space.historyLeaseAtMs;
    this.#historyLease = space.historyLease;
    const isYoung = space.historyLease !== undefined && ageMs >= 0 && ageMs < historyLeaseAgeMs;
    if (isYoung && !this.#draft.options.needsHistoryLease) return;
    this.#historyLease = await this.#draft.single(historyLifeMs + historyLeaseAgeMs);
    this.#writesSpace = true;
  }

  #compareSpace(): void {
    const { view, keys } = this.#draft.options;
    this.#draft.expect(keys.space, view.spaceKey);
  }

  #writeSpace(): void {
    const { view, keys, offset } = this.#draft.options;
    if (view.isSpaceForeign) throw new RecordCorruptError(foreignSpace(keys.space));
    const { historyLease, historyLeaseAtMs } = view.space;
    const isNew = this.#writesSpace;
    const value = {
      offset,
      historyLease: isNew ? this.#historyLease : historyLease,
      historyLeaseAtMs: isNew ? view.facts.wallMs : historyLeaseAtMs,
    };
    this.#draft.put(keys.space, write(value), '0');
  }
}
