import {
  ring,
  type SqliteClock,
  type SqliteEvents,
  type SqliteLibrary,
  SqliteSession,
  type StatFileSystem,
  sqlitePath,
} from '../../drivers/sqlite/index.js';
import { type Known, requireKnown, requireKnownName } from '../../errors/checks.js';
import { Emitter, type EventSource, isolated, type Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { Call } from '../candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  Coordinator,
  CoordinatorRecipe,
  RenewRequest,
  RenewResult,
} from '../contract.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import { checkGroup, checkHolder } from '../requests.js';
import { LedgerCoordinator, type LedgerStep } from '../rules/ledger-coordinator.js';
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

const eventNames: Known<SqliteCoordinatorEvents> = { lost: true, warning: true, corrupt: true };

const optionKeys: Known<SqliteCoordinatorOptions> = {
  namespace: true,
  runtime: true,
  createDirectory: true,
  clock: true,
  library: true,
  statFileSystem: true,
};

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
  return new FileCoordinator(sqlitePath(location), requireKnown('options', options, optionKeys));
}

class FileCoordinator extends LedgerCoordinator implements SqliteCoordinator {
  readonly promises = sqlitePromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #namespace: string;
  readonly #session: SqliteSession;
  readonly #waking: Waking;
  readonly #events = new Emitter<Pick<SqliteCoordinatorEvents, 'corrupt'>>({ corrupt: true });
  /** After which name the next sweep begins. */
  #sweptName = '';

  constructor(path: string, options: SqliteCoordinatorOptions) {
    super();
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
    requireKnownName('event', name, eventNames, 'is told by nobody');
    if (name === 'corrupt') return this.#events.on(name, listener as never);
    return this.#session.on(name as keyof SqliteEvents, listener as never);
  }

  protected override grant(
    ledger: SqliteLedger,
    requests: readonly AcquireRequest[],
    nowMs: number,
  ): AcquireResult[] {
    if (ledger.hasBadTerm()) return requests.map(() => badTerm);
    const answers = super.grant(ledger, requests, nowMs);
    this.#sweptName = ledger.records.sweepAfter(this.#sweptName);
    return answers;
  }

  protected override extend(
    ledger: SqliteLedger,
    request: RenewRequest,
    nowMs: number,
  ): RenewResult {
    return ledger.records.extend(request) ? renewed : super.extend(ledger, request, nowMs);
  }

  protected override async run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    const { operation, mode, timeoutMs } = step;
    const answer = await this.#session.call(operation, mode, timeoutMs, (transaction) => {
      const ledger = new SqliteLedger(transaction, this.#namespace);
      const result = step.execute(ledger, transaction.nowMs);
      ledger.leaveWord();
      return result;
    });
    // Nobody waits for a renewal, so none rings the bell.
    if (operation === 'renew') this.#waking.noteWrite();
    else if (mode === 'write') ring(this.#session.path);
    return answer;
  }

  protected override tellCorrupt(name: string, detail: string): void {
    this.#events.emit('corrupt', { name, detail });
  }

  protected override throwIfClosed(): void {
    this.#session.throwIfClosed();
  }

  override watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.#session.throwIfClosed();
    return this.#waking.watch(checkGroup(group), isolated('watch', wake));
  }

  override onConnectionLost(lost: () => void): Unsubscribe {
    return this.#session.on('lost', lost);
  }

  override onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    this.#session.throwIfClosed();
    checkHolder(holder);
    return this.#waking.onCalled(holder, isolated('onCalled', called));
  }

  override async close(): Promise<void> {
    this.#waking.close();
    this.#session.close();
    this.#events.removeAll();
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
