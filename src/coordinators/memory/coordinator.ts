import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { requireInstance, requireObject } from '../../errors/checks.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Act, RevokeRequest } from '../acts.js';
import type {
  Call,
  Candidate,
  EnrollRequest,
  EnrollResult,
  WithdrawRequest,
} from '../candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  Coordinator,
  EndResult,
  HandoffRequest,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
  StoredDocument,
  WriteDocumentResult,
} from '../contract.js';
import type { HistoryEntry } from '../history.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import type { LeaseRecord } from '../record.js';
import {
  checkAcquires,
  checkAct,
  checkDocument,
  checkEnrollments,
  checkGroup,
  checkHandoffs,
  checkHolder,
  checkNames,
  checkReleases,
  checkRenewals,
  checkRevocation,
  checkTimeout,
  checkWithdrawals,
  copies,
} from '../requests.js';
import { historyOf, resumeOne, revokeOne, suspendOne } from '../rules/acts.js';
import { describeCandidate } from '../rules/candidate.js';
import {
  acquireAll,
  enrollOne,
  handOffOne,
  releaseOne,
  renewOne,
  writeDocument,
} from '../rules/operations.js';
import { listGroup, readOne } from '../rules/standing.js';
import { memoryPromises } from './promises.js';
import { MemoryStore } from './store.js';

export interface MemoryCoordinatorOptions {
  /** This client's own clocks and timers; they bound its calls. Default: those of the store. */
  readonly runtime?: Runtime;
  /** The network to the store. Default: everything arrives, two microtasks later. */
  readonly link?: MemoryLink;
}

/**
 * A coordinator in the memory of this process: for tests, simulations and programs that are one process.
 *
 * Coordinators that share a `store` exclude each other, as processes that share a server do. Without one, a store of its
 * own is made, which nobody else can see. It excludes nobody in another process.
 *
 * Calls may be made concurrently. After `close()` they reject with `ClosedError`; a call that was under way rejects with
 * `OutcomeUnknownError`. A request that reaches the store after its deadline is refused: `too-late` for an acquire,
 * `StoreRefusedError` otherwise.
 */
export function memoryCoordinator(
  store: MemoryStore = new MemoryStore(),
  options: MemoryCoordinatorOptions = {},
): Coordinator {
  return new MemoryCoordinator(store, options);
}

class MemoryCoordinator implements Coordinator {
  readonly promises = memoryPromises;
  readonly #store: MemoryStore;
  readonly #caller: MemoryCaller;

  constructor(store: MemoryStore, options: MemoryCoordinatorOptions) {
    requireInstance('store', store, MemoryStore);
    requireObject('options', options);
    this.#store = store;
    this.#caller = new MemoryCaller({
      what: 'memory store',
      runtime: requireRuntime(options.runtime ?? store.runtime),
      link: requireLink(options.link),
      nowMs: () => store.elapsedMs(),
    });
    this.#caller.attach(() =>
      store.onConnectionLost(() => this.#caller.giveUpAll('the connection to the store was lost')),
    );
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    return this.#call(
      'acquire',
      checkTimeout(call),
      (nowMs) => acquireAll(this.#store, checked, nowMs),
      () => checked.map(() => ({ outcome: 'too-late' })),
    );
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    return this.#call('renew', checkTimeout(call), (nowMs) =>
      checked.map((request) => renewOne(this.#store, request, nowMs)),
    );
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkReleases(requests));
    return this.#call('release', checkTimeout(call), (nowMs) =>
      checked.map((request) => releaseOne(this.#store, request, nowMs)),
    );
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkHandoffs(requests, this.promises));
    return this.#call('handoff', checkTimeout(call), (nowMs) =>
      checked.map((request) => handOffOne(this.#store, request, nowMs)),
    );
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    return this.#call('read', checkTimeout(call), (nowMs) =>
      checked.map((name) => readOne(this.#store, name, nowMs)),
    );
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    checkGroup(group);
    return this.#call('list', checkTimeout(call), (nowMs) => listGroup(this.#store, group, nowMs));
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    const checked = checkGroup(group);
    return this.#caller.listen<string | undefined>(
      (told) => this.#store.watch(checked, told),
      wake,
    );
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    return this.#caller.attach(() => this.#store.onConnectionLost(lost));
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    return this.#call('enroll', checkTimeout(call), (nowMs) =>
      checked.map((request) => enrollOne(this.#store, request, nowMs)),
    );
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    return this.#call('withdraw', checkTimeout(call), () => {
      for (const { name, holder } of checked) this.#store.candidates.withdraw(name, holder);
    });
  }

  async candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    validateName(name);
    return this.#call('candidates', checkTimeout(call), (nowMs) =>
      this.#store.candidates.of(name).map((entry) => describeCandidate(entry, nowMs)),
    );
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    checkHolder(holder);
    return this.#caller.listen<Call>((told) => this.#store.onCalled(holder, told), called);
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const checked = { ...checkRevocation(request) };
    validateName(name);
    return this.#call('revoke', checkTimeout(call), (nowMs) =>
      revokeOne(this.#store, name, checked, nowMs),
    );
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const checked = { ...checkAct(act) };
    validateName(name);
    return this.#call('suspend', checkTimeout(call), (nowMs) =>
      suspendOne(this.#store, name, checked, nowMs),
    );
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const checked = { ...checkAct(act) };
    validateName(name);
    return this.#call('resume', checkTimeout(call), () => resumeOne(this.#store, name, checked));
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    validateName(name);
    return this.#call('history', checkTimeout(call), () => historyOf(this.#store, name));
  }

  async readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    validateName(name);
    return this.#call('readDocument', checkTimeout(call), () => this.#store.documents.get(name));
  }

  async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    validateName(name);
    checkDocument(text, expectedVersion);
    return this.#call('writeDocument', checkTimeout(call), () =>
      writeDocument(this.#store, name, text, expectedVersion),
    );
  }

  async close(): Promise<void> {
    this.#caller.close();
  }

  #call<Answer>(
    operation: string,
    timeoutMs: number,
    execute: (nowMs: number) => Answer,
    whenLate?: () => Answer,
  ): Promise<Answer> {
    const run = () => {
      const nowMs = this.#store.expire();
      try {
        return execute(nowMs);
      } finally {
        this.#store.followDeadlines();
      }
    };
    return this.#caller.call(operation, timeoutMs, run, whenLate);
  }
}
