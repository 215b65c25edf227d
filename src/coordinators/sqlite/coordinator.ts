import {
  ring,
  type SqliteClock,
  type SqliteEvents,
  type SqliteLibrary,
  SqliteSession,
  type SqliteTransaction,
  type StatFileSystem,
  sqlitePath,
} from '../../drivers/sqlite/index.js';
import { requireObject } from '../../errors/checks.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
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
  CoordinatorRecipe,
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
import { SqliteLedger } from './ledger.js';
import { sqlitePromises } from './promises.js';
import { leaseSchema } from './schema.js';
import { Waking } from './waking.js';

export interface SqliteCoordinatorOptions {
  /**
   * Coordinators of one namespace of one file exclude each other; those of different ones do not meet. Written like a
   * name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /** Timers and randomness, and the clock that bounds calls. Default: those of this process. */
  readonly runtime?: Runtime;
  /** Creates the folder of the file, for this user alone, if it is not there. Default `false`: it has to be there. */
  readonly createDirectory?: boolean;
  /** @internal The clock of the machine. */
  readonly clock?: SqliteClock;
  /** @internal */
  readonly library?: SqliteLibrary;
  /** @internal What the kernel says of a folder. */
  readonly statFileSystem?: StatFileSystem;
}

export interface SqliteCoordinatorEvents extends SqliteEvents {
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its file. */
export interface SqliteCoordinator extends Coordinator, EventSource<SqliteCoordinatorEvents> {}

/**
 * A coordinator in one file, for the processes of one machine. Needs Node 22.13 or later, or the package `libsql`.
 *
 * Exclusive among these processes. On Linux deadlines are on the kernel's monotonic clock, so nothing that is done to the
 * wall clock moves them; a restart of the machine ends every lease. The file survives a crash of any process at any point.
 * It has to be on a local disk: network file systems are refused with `StoreMisconfiguredError`. Nothing else may open it.
 *
 * Each call is one transaction, and blocks the event loop for as long as that takes: about a third of a millisecond where
 * the disk is quick, since a commit waits for it. Calls that find the file locked are tried again, without blocking, until
 * their timeout; they then reject with `UnreachableError`, and were not executed. A process that is stopped inside a
 * transaction blocks all others until it goes on or ends; the error says so.
 *
 * The file is opened at the first call. If it is removed or replaced, that is noticed at the next call or within a second,
 * and the file that is there by then is used: leases in the old one are lost. `close()` lets go of the file and ends no
 * lease. One coordinator per thread; do not carry it over a fork.
 *
 * @param location the path of the file, which is created if there is none; or `sqlite:` and the path.
 * @throws {OptionError} if the location or the namespace cannot be used.
 */
export function sqliteCoordinator(
  location: string | URL,
  options: SqliteCoordinatorOptions = {},
): SqliteCoordinator {
  return new FileCoordinator(sqlitePath(location), requireObject('options', options));
}

class FileCoordinator implements SqliteCoordinator {
  readonly promises = sqlitePromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #namespace: string;
  readonly #session: SqliteSession;
  readonly #waking: Waking;
  readonly #events = new Emitter<Pick<SqliteCoordinatorEvents, 'corrupt'>>();
  /** After which name the next sweep begins. */
  #sweptName = '';

  constructor(path: string, options: SqliteCoordinatorOptions) {
    const { namespace = 'default', createDirectory = false } = options;
    const { clock, library, statFileSystem } = options;
    const runtime = requireRuntime(options.runtime);
    this.#namespace = validateName(namespace, 'namespace');
    const what = 'the SQLite coordinator';
    const ofTests = { clock, library, statFileSystem };
    this.#session = new SqliteSession({
      what,
      path,
      schema: leaseSchema,
      runtime,
      createDirectory,
      ...ofTests,
    });
    this.#waking = new Waking(this.#session, namespace, runtime);
    const canBeRepeated = Object.values(ofTests).every((one) => one === undefined);
    if (canBeRepeated) this.#recipe = recipeOf(path, { namespace, createDirectory });
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe | undefined {
    return this.#recipe;
  }

  on<Name extends keyof SqliteCoordinatorEvents>(
    name: Name,
    listener: (event: SqliteCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    if (name === 'corrupt') return this.#events.on(name, listener as never);
    return this.#session.on(name as keyof SqliteEvents, listener as never);
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    const results = await this.#write('acquire', timeoutMs, (ledger, nowMs) => {
      if (ledger.hasBadTerm()) return checked.map(() => badTerm);
      const answers = acquireAll(ledger, checked, nowMs);
      this.#sweptName = ledger.records.sweepAfter(this.#sweptName);
      return answers;
    });
    for (const [index, result] of results.entries()) {
      const { name } = checked[index] as AcquireRequest;
      if (result.outcome === 'corrupt')
        this.#events.emit('corrupt', { name, detail: result.detail });
    }
    return results;
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = copies(checkRenewals(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    const results = await this.#session.call('renew', 'write', timeoutMs, (transaction) => {
      const ledger = new SqliteLedger(transaction, this.#namespace);
      return checked.map((request) =>
        ledger.records.extend(request) ? renewed : renewOne(ledger, request, transaction.nowMs),
      );
    });
    // Rings no bell: nobody waits for a renewal.
    this.#waking.noteWrite();
    return results;
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkReleases(requests));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.#write('release', timeoutMs, (ledger, nowMs) =>
      checked.map((request) => releaseOne(ledger, request, nowMs)),
    );
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    const checked = copies(checkHandoffs(requests, this.promises));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.#write('handoff', timeoutMs, (ledger, nowMs) =>
      checked.map((request) => handOffOne(ledger, request, nowMs)),
    );
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.#read('read', timeoutMs, (ledger, nowMs) =>
      checked.map((name) => readOne(ledger, name, nowMs)),
    );
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    checkGroup(group);
    return this.#read('list', checkTimeout(call), (ledger, nowMs) =>
      listGroup(ledger, group, nowMs),
    );
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.#session.throwIfClosed();
    return this.#waking.watch(checkGroup(group), isolated(wake));
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    return this.#session.on('lost', lost);
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const checked = copies(checkEnrollments(requests));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#nothing();
    return this.#write('enroll', timeoutMs, (ledger, nowMs) =>
      checked.map((request) => enrollOne(ledger, request, nowMs)),
    );
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const checked = copies(checkWithdrawals(requests));
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return this.#session.throwIfClosed();
    return this.#write('withdraw', timeoutMs, (ledger) => {
      for (const { name, holder } of checked) ledger.candidates.withdraw(name, holder);
    });
  }

  async candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    validateName(name);
    return this.#read('candidates', checkTimeout(call), (ledger, nowMs) =>
      ledger.candidates.of(name).map((entry) => describeCandidate(entry, nowMs)),
    );
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    this.#session.throwIfClosed();
    checkHolder(holder);
    return this.#waking.onCalled(holder, isolated(called));
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const checked = { ...checkRevocation(request) };
    validateName(name);
    return this.#write('revoke', checkTimeout(call), (ledger, nowMs) =>
      revokeOne(ledger, name, checked, nowMs),
    );
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const checked = { ...checkAct(act) };
    validateName(name);
    return this.#write('suspend', checkTimeout(call), (ledger, nowMs) =>
      suspendOne(ledger, name, checked, nowMs),
    );
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const checked = { ...checkAct(act) };
    validateName(name);
    return this.#write('resume', checkTimeout(call), (ledger) => resumeOne(ledger, name, checked));
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    validateName(name);
    // A write, since the end of a term whose record was removed is noted when it is noticed.
    return this.#write('history', checkTimeout(call), (ledger) => historyOf(ledger, name));
  }

  async readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    validateName(name);
    return this.#read('readDocument', checkTimeout(call), (ledger) => ledger.documents.get(name));
  }

  async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    validateName(name);
    checkDocument(text, expectedVersion);
    return this.#write('writeDocument', checkTimeout(call), (ledger) =>
      writeDocument(ledger, name, text, expectedVersion),
    );
  }

  async close(): Promise<void> {
    this.#waking.close();
    this.#session.close();
    this.#events.removeAll();
  }

  #nothing(): never[] {
    this.#session.throwIfClosed();
    return [];
  }

  async #write<Answer>(
    operation: string,
    timeoutMs: number,
    execute: (ledger: SqliteLedger, nowMs: number) => Answer,
  ): Promise<Answer> {
    const answer = await this.#session.call(operation, 'write', timeoutMs, (transaction) => {
      const ledger = new SqliteLedger(transaction, this.#namespace);
      const result = execute(ledger, transaction.nowMs);
      ledger.leaveWord();
      return result;
    });
    ring(this.#session.path);
    return answer;
  }

  #read<Answer>(
    operation: string,
    timeoutMs: number,
    execute: (ledger: SqliteLedger, nowMs: number) => Answer,
  ): Promise<Answer> {
    return this.#session.call(operation, 'read', timeoutMs, (transaction: SqliteTransaction) =>
      execute(new SqliteLedger(transaction, this.#namespace), transaction.nowMs),
    );
  }
}

const renewed: RenewResult = Object.freeze({ outcome: 'renewed' });

const badTerm: AcquireResult = Object.freeze({
  outcome: 'corrupt',
  detail: 'the last term of the namespace is no term: remove its row from the table "namespace"',
});

/** Another coordinator of the same file, for another thread. */
function recipeOf(path: string, options: SqliteCoordinatorOptions): CoordinatorRecipe {
  return { module: import.meta.url, factory: 'sqliteCoordinator', args: [path, options] };
}

/** A listener that throws must not keep others from being told. */
function isolated<Value>(listener: (value: Value) => void): (value: Value) => void {
  const outlet = new Emitter<{ told: Value }>();
  outlet.on('told', listener);
  return (value) => outlet.emit('told', value);
}
