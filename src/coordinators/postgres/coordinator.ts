import {
  GuestLines,
  isPool,
  type LineEvents,
  type Lines,
  OwnLines,
  type PostgresPool,
  type PostgresQueryable,
  quoteSchema,
} from '../../drivers/postgres/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError, OptionError } from '../../errors/index.js';
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
import { checkGroup, checkHolder } from '../requests.js';
import { PostgresActs } from './acts.js';
import { PostgresCandidates } from './candidates.js';
import { leaseServerCheck } from './check.js';
import { PostgresDocuments } from './documents.js';
import { type LeaseReports, PostgresLeases } from './leases.js';
import { placeOf } from './place.js';
import { postgresPromises } from './promises.js';
import { LeaseStore } from './store.js';
import { Waking } from './waking.js';

export interface PostgresCoordinatorOptions {
  /**
   * Coordinators of one namespace of one schema exclude each other; those of different ones do not meet. Written like a
   * name of a lease. Default `default`.
   */
  readonly namespace?: string;
  /**
   * The schema that `tenure migrate` has created: 1 to 63 letters, digits, underscores. Default: what the URL says
   * (`?schema=`), else `tenure`.
   */
  readonly schema?: string;
  /** Clock, timers and randomness. Default: those of this process. */
  readonly runtime?: Runtime;
  /**
   * How long one attempt to connect, log in and check the server may take, 1 ms to ten minutes. Default 2,000 ms. Not for a
   * client of your own.
   */
  readonly connectTimeoutMs?: number;
  /**
   * The most connections that are opened for a URL, 1 to 100, not counting one more for renewals that find all in use, and
   * one that listens. They are opened as calls need them, and closed when they are idle. Default 4.
   */
  readonly maxConnections?: number;
}

export interface PostgresCoordinatorEvents extends LineEvents {
  /** The server's clock was set back: a deadline was cut down to its own ttl from now. */
  repaired: { readonly name: string };
  /** Something under a name of ours is not ours. It is left alone, and the name is granted to nobody. */
  corrupt: { readonly name: string; readonly detail: string };
}

/** A coordinator that also reports what happens to its connections and its records. */
export interface PostgresCoordinator extends Coordinator, EventSource<PostgresCoordinatorEvents> {}

const eventNames: Known<PostgresCoordinatorEvents> = {
  ...{ connected: true, disconnected: true, warning: true, repaired: true, corrupt: true },
};

const optionKeys: Known<PostgresCoordinatorOptions> = {
  namespace: true,
  schema: true,
  runtime: true,
  connectTimeoutMs: true,
  maxConnections: true,
};

/**
 * A coordinator in a schema of a PostgreSQL database (15 is what the tests run on). Needs the package `pg`, 8 or later, for
 * a URL. The schema has to be there: `tenure migrate --url postgres://...` or `migratePostgres()`.
 *
 * Exclusive on one primary while it keeps what it committed and its clock does not jump; otherwise two holders may overlap
 * for a while, with different terms. A lease alone is never mutual exclusion: put a fence at what the holder writes to. If
 * that is in the same database, the fence can check the lease itself, in the transaction that writes.
 *
 * Every operation is one statement that needs nothing of its session, so a pooler in transaction mode may stand in between.
 * `LISTEN` does not work there: who waits is then found out by asking twice a second, and a `warning` says so. Each
 * change commits durably, whatever `synchronous_commit` the role has.
 *
 * It connects at the first call. A standby, or a database without the schema, is refused with `StoreMisconfiguredError`.
 * Calls may run concurrently; one that gets no answer within its timeout gives its connection up.
 *
 * @param urlOrClient `postgres://` URL; or a `Pool` or `Client` of the package `pg`, or anything else with its `query`. It
 * is never closed here. A call that gets no answer takes its connection out of a pool; of a single client it cannot get rid,
 * so the calls behind it have to wait. No connection of yours is kept to listen on, so who waits asks twice a second. A
 * client that is inside a transaction of yours is none for this: what was answered there is undone by its rollback.
 * @throws {OptionError} if the URL, the client or an option cannot be used.
 */
export function postgresCoordinator(
  urlOrClient: string | URL | PostgresPool | PostgresQueryable,
  options: PostgresCoordinatorOptions = {},
): PostgresCoordinator {
  const { source, schema } = placeOf(
    urlOrClient,
    requireKnown('options', options, optionKeys).schema,
  );
  return new DatabaseCoordinator(source, resolveOptions({ ...options, schema }));
}

class DatabaseCoordinator implements PostgresCoordinator {
  readonly promises = postgresPromises;
  readonly #recipe: CoordinatorRecipe | undefined;
  readonly #lines: Lines;
  readonly #events = new Emitter<PostgresCoordinatorEvents>(eventNames);
  readonly #leases: PostgresLeases;
  readonly #candidates: PostgresCandidates;
  readonly #acts: PostgresActs;
  readonly #documents: PostgresDocuments;
  readonly #waking: Waking;
  #closing: Promise<void> | undefined;

  constructor(urlOrClient: string | PostgresPool | PostgresQueryable, options: ResolvedOptions) {
    const { namespace, schema, runtime, connectTimeoutMs } = options;
    const url = typeof urlOrClient === 'string' ? urlOrClient : undefined;
    const quotedSchema = quoteSchema(schema);
    const check = leaseServerCheck(schema, quotedSchema);
    this.#lines =
      url === undefined
        ? new GuestLines(checkClient(urlOrClient as PostgresPool | PostgresQueryable), {
            runtime,
            check,
          })
        : new OwnLines(url, { ...options, check });
    const store = new LeaseStore(this.#lines, runtime, { schema, quotedSchema, namespace });
    const reports: LeaseReports = {
      corrupt: (name, detail) => this.#events.emit('corrupt', { name, detail }),
      repaired: (name) => this.#events.emit('repaired', { name }),
      shown: (name) => this.#waking.note(name),
    };
    this.#leases = new PostgresLeases(store, this.promises, reports);
    this.#candidates = new PostgresCandidates(store, reports);
    this.#acts = new PostgresActs(store);
    this.#documents = new PostgresDocuments(store);
    this.#waking = new Waking(store, { url, runtime, connectTimeoutMs }, (message) =>
      this.#events.emit('warning', { address: this.#lines.address, message }),
    );
    for (const name of ['connected', 'disconnected', 'warning'] as const)
      this.#lines.on(name, (event) => this.#events.emit(name, event as never));
    if (url !== undefined) this.#recipe = recipeOf(url, options);
  }

  /** No property of its own: it holds the credentials, and whoever prints a coordinator must not print those. */
  get recipe(): CoordinatorRecipe | undefined {
    return this.#recipe;
  }

  on<Name extends keyof PostgresCoordinatorEvents>(
    name: Name,
    listener: (event: PostgresCoordinatorEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    return this.#leases.acquire(requests, call);
  }

  renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    return this.#leases.renew(requests, call);
  }

  release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#leases.release(requests, call);
  }

  handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    return this.#leases.handoff(requests, call);
  }

  read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    return this.#leases.read(names, call);
  }

  list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    return this.#leases.list(group, call);
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    this.#throwIfClosed();
    return this.#waking.watch(checkGroup(group), wake);
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    this.#throwIfClosed();
    return this.#events.on('disconnected', lost);
  }

  enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    return this.#candidates.enroll(requests, call);
  }

  withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    return this.#candidates.withdraw(requests, call);
  }

  candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    return this.#candidates.list(name, call);
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    checkHolder(holder);
    this.#throwIfClosed();
    return this.#waking.onCalled(holder, called);
  }

  revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    return this.#acts.revoke(name, request, call);
  }

  suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    return this.#acts.suspend(name, act, call);
  }

  resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    return this.#acts.resume(name, act, call);
  }

  history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    return this.#acts.history(name, call);
  }

  readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    return this.#documents.read(name, call);
  }

  writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    return this.#documents.write(name, text, expectedVersion, call);
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClosedError('the PostgreSQL coordinator');
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#waking.close(), this.#lines.close()]);
    this.#events.removeAll();
  }
}

type ResolvedOptions = Required<PostgresCoordinatorOptions>;

function resolveOptions(
  options: PostgresCoordinatorOptions & { readonly schema: string },
): ResolvedOptions {
  const { namespace = 'default', schema } = options;
  const { connectTimeoutMs = 2_000, maxConnections = 4 } = options;
  const runtime = requireRuntime(options.runtime);
  validateName(namespace, 'namespace');
  if (
    !(typeof connectTimeoutMs === 'number' && connectTimeoutMs >= 1 && connectTimeoutMs <= 600_000)
  )
    throw new OptionError(
      'connectTimeoutMs',
      connectTimeoutMs,
      'is out of range',
      'use 1 to 600000 milliseconds',
    );
  if (!Number.isInteger(maxConnections) || maxConnections < 1 || maxConnections > 100)
    throw new OptionError(
      'maxConnections',
      maxConnections,
      'is no such number',
      'use a whole number from 1 to 100',
    );
  return { namespace, schema, runtime, connectTimeoutMs, maxConnections };
}

function checkClient(client: PostgresPool | PostgresQueryable): PostgresPool | PostgresQueryable {
  if (isPool(client) || typeof Object(client).query === 'function') return client;
  throw new OptionError(
    'urlOrClient',
    client,
    'is neither a URL nor a client',
    'pass a postgres:// URL, or a Pool or Client of the package pg',
  );
}

/** Both arguments can be sent to a worker thread; the runtime cannot, and there is that thread's own. */
function recipeOf(
  url: string,
  { namespace, schema, connectTimeoutMs, maxConnections }: ResolvedOptions,
): CoordinatorRecipe {
  const options = { namespace, schema, connectTimeoutMs, maxConnections };
  return { module: import.meta.url, factory: 'postgresCoordinator', args: [url, options] };
}
