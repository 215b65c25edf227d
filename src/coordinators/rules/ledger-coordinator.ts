import type { Unsubscribe } from '../../events/index.js';
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
  CoordinatorPromises,
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
  checkNames,
  checkReleases,
  checkRenewals,
  checkRevocation,
  checkTimeout,
  checkWithdrawals,
  copies,
} from '../requests.js';
import { historyOf, resumeOne, revokeOne, suspendOne } from './acts.js';
import { describeCandidate } from './candidate.js';
import type { Ledger } from './ledger.js';
import {
  acquireAll,
  enrollOne,
  handOffOne,
  releaseOne,
  renewOne,
  writeDocument,
} from './operations.js';
import { listGroup, readOne } from './standing.js';

/** What one operation does with a ledger, in one step. */
export interface LedgerStep<Answer> {
  /** The method of the coordinator that was called. */
  readonly operation: string;
  /** A `read` changes nothing. */
  readonly mode: 'read' | 'write';
  /** What it looks at and may change: these names, or all of one group. */
  readonly scope: { readonly names: readonly string[] } | { readonly group: string };
  /** Within how many milliseconds the call settles, and after how many it is not executed any more. */
  readonly timeoutMs: number;
  /** Synchronous. `nowMs` is the store's clock at execution. May run again if nothing of the run before was kept. */
  execute(ledger: Ledger, nowMs: number): Answer;
  /** The answer if it comes too late to be executed; without it the store refuses. */
  readonly whenLate?: () => Answer;
}

/**
 * A coordinator whose store keeps a {@link Ledger}: checks what callers pass, takes a copy of it, and lets the rules run
 * in one step of the store. What is left to a store is to run a step, and to wake.
 */
export abstract class LedgerCoordinator implements Coordinator {
  abstract readonly promises: CoordinatorPromises;

  /** Runs the step so that nobody else changes what is in its scope meanwhile, and keeps all or nothing of it. */
  protected abstract run<Answer>(step: LedgerStep<Answer>): Promise<Answer>;
  /** @throws {ClosedError} */
  protected abstract throwIfClosed(): void;
  /** Something under a name is not ours, and was left alone. A store without events has nobody to tell. */
  protected tellCorrupt(_name: string, _detail: string): void {}

  abstract watch(group: string, wake: (name: string | undefined) => void): Unsubscribe;
  abstract onConnectionLost(lost: () => void): Unsubscribe;
  abstract onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe;
  abstract close(): Promise<void>;

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    const results = await this.#batch<AcquireResult>('acquire', checked, call, {
      execute: (ledger, nowMs) => this.grant(ledger, checked, nowMs),
      whenLate: () => checked.map(() => ({ outcome: 'too-late' })),
    });
    for (const [index, result] of results.entries())
      if (result.outcome === 'corrupt')
        this.tellCorrupt((checked[index] as AcquireRequest).name, result.detail);
    return results;
  }

  /** What an acquire does within its step. */
  protected grant(
    ledger: Ledger,
    requests: readonly AcquireRequest[],
    nowMs: number,
  ): AcquireResult[] {
    return acquireAll(ledger, requests, nowMs);
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    return this.#batch('renew', checked, call, {
      execute: (ledger, nowMs) => checked.map((request) => this.extend(ledger, request, nowMs)),
    });
  }

  /** What a renewal does with one request within its step. */
  protected extend(ledger: Ledger, request: RenewRequest, nowMs: number): RenewResult {
    return renewOne(ledger, request, nowMs);
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkReleases(requests));
    return this.#batch('release', checked, call, {
      execute: (ledger, nowMs) => checked.map((request) => releaseOne(ledger, request, nowMs)),
    });
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkHandoffs(requests, this.promises));
    return this.#batch('handoff', checked, call, {
      execute: (ledger, nowMs) => checked.map((request) => handOffOne(ledger, request, nowMs)),
    });
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.run({
      operation: 'read',
      mode: 'read',
      scope: { names: checked },
      timeoutMs,
      execute: (ledger, nowMs) => checked.map((name) => readOne(ledger, name, nowMs)),
    });
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    checkGroup(group);
    const { records, foreignNames } = await this.run({
      operation: 'list',
      mode: 'read',
      scope: { group },
      timeoutMs: checkTimeout(call),
      execute: (ledger, nowMs) => listGroup(ledger, group, nowMs),
    });
    for (const name of foreignNames) this.tellCorrupt(name, 'a text that is no record of a lease');
    return records;
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    return this.#batch('enroll', checked, call, {
      execute: (ledger, nowMs) => checked.map((request) => enrollOne(ledger, request, nowMs)),
    });
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    await this.#batch('withdraw', checked, call, {
      execute: (ledger) =>
        checked.map(({ name, holder }) => ledger.candidates.withdraw(name, holder)),
    });
  }

  async candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    return this.#one('candidates', 'read', name, call, (ledger, nowMs) =>
      ledger.candidates.of(name).map((entry) => describeCandidate(entry, nowMs)),
    );
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const checked = { ...checkRevocation(request) };
    return this.#one('revoke', 'write', name, call, (ledger, nowMs) =>
      revokeOne(ledger, name, checked, nowMs),
    );
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const checked = { ...checkAct(act) };
    return this.#one('suspend', 'write', name, call, (ledger, nowMs) =>
      suspendOne(ledger, name, checked, nowMs),
    );
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const checked = { ...checkAct(act) };
    return this.#one('resume', 'write', name, call, (ledger) => resumeOne(ledger, name, checked));
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    // A write, since the end of a term whose record was removed is noted when it is noticed.
    return this.#one('history', 'write', name, call, (ledger) => historyOf(ledger, name));
  }

  async readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    return this.#one('readDocument', 'read', name, call, (ledger) => ledger.documents.get(name));
  }

  async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    checkDocument(text, expectedVersion);
    return this.#one('writeDocument', 'write', name, call, (ledger) =>
      writeDocument(ledger, name, text, expectedVersion),
    );
  }

  /** Changes each of some names in one step; without any, there is nothing to ask the store. */
  #batch<Answer>(
    operation: string,
    requests: readonly { readonly name: string }[],
    call: CallOptions,
    parts: Pick<LedgerStep<Answer[]>, 'execute' | 'whenLate'>,
  ): Promise<Answer[]> {
    const timeoutMs = checkTimeout(call);
    if (requests.length === 0) return Promise.resolve(this.#nothing());
    const scope = { names: requests.map(({ name }) => name) };
    return this.run({ operation, mode: 'write', scope, timeoutMs, ...parts });
  }

  #one<Answer>(
    operation: string,
    mode: LedgerStep<Answer>['mode'],
    name: string,
    call: CallOptions,
    execute: LedgerStep<Answer>['execute'],
  ): Promise<Answer> {
    const scope = { names: [validateName(name)] };
    return this.run({ operation, mode, scope, timeoutMs: checkTimeout(call), execute });
  }

  #nothing(): never[] {
    this.throwIfClosed();
    return [];
  }
}
