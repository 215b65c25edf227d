import { type CallOptions, validateName } from '../../coordinators/index.js';
import type { Migration } from '../../coordinators/postgres/index.js';
import { placeOf } from '../../coordinators/postgres/place.js';
import { lateState } from '../../coordinators/postgres/schema/index.js';
import {
  type Answer,
  GuestLines,
  isPool,
  type LineEvents,
  type Lines,
  OwnLines,
  PostgresOperations,
  type PostgresPool,
  quoteSchema,
} from '../../drivers/postgres/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
import { ClosedError, OptionError } from '../../errors/index.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  OnceBeginRequest,
  OnceBeginResult,
  OnceEndRequest,
  OnceEndResult,
  OncePromises,
  OnceSettleRequest,
  OnceSettleResult,
  OnceStore,
  OnceUnknownOptions,
} from '../contract.js';
import type { OnceRecord } from '../records.js';
import {
  checkBegin,
  checkCall,
  checkDuration,
  checkEnd,
  checkLimit,
  checkSettle,
  checkUnknownOptions,
  validateKey,
} from '../requests.js';
import { corruptKey, parseRecord, type ShownRecord } from '../rules/texts.js';
import { titleOf } from '../titles.js';
import { onceServerCheck } from './check.js';
import { migrateOnce } from './migration.js';

export interface PostgresOnceOptions {
  /** Stores of one namespace of one schema share their keys. Written like a name of a lease. Default `default`. */
  readonly namespace?: string;
  /** The schema of tenure's tables: 1 to 63 letters, digits, underscores. Default: what the URL says (`?schema=`), else `tenure`. */
  readonly schema?: string;
  /** The most connections that are opened for a URL, 1 to 100, as calls need them. Default 4. */
  readonly maxConnections?: number;
  /** How long one attempt to connect, log in and check the server may take, 1 ms to ten minutes. Default 2,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Clock and timers; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

export interface PostgresOnce extends OnceStore, EventSource<LineEvents> {
  /**
   * Creates the tables of the leases, the table `once_keys` and its functions, unless they are there. Safe at every start,
   * by many processes at once. Resolves with what it found, and made, of the table of keys. `tenure migrate` does the same.
   *
   * @throws {StoreMisconfiguredError} if the role may not create them, or a newer tenure has.
   */
  migrate(): Promise<Migration>;
}

const optionKeys: Known<PostgresOnceOptions> = {
  namespace: true,
  schema: true,
  maxConnections: true,
  connectTimeoutMs: true,
  runtime: true,
};

/**
 * Keys in a PostgreSQL database, in the schema of `postgresCoordinator`: `tenure migrate` or {@link PostgresOnce.migrate} creates what it needs.
 *
 * Every call is one statement that needs nothing of its session, so a pooler in transaction mode may stand in between. Each
 * change commits durably, whatever `synchronous_commit` the role has. A failover to a standby that is not synchronous may
 * forget that an effect was begun, or had.
 *
 * @param urlOrPool a URL (needs the package `pg`, 8 or later), or your own `Pool`, which is never closed here.
 * @throws {OptionError} if it, or an option, cannot be used. It connects at the first call.
 */
export function postgresOnce(
  urlOrPool: string | URL | PostgresPool,
  options: PostgresOnceOptions = {},
): PostgresOnce {
  const { source, schema } = placeOf(
    urlOrPool,
    requireKnown('options', options, optionKeys).schema,
  );
  return new OnceInPostgres(source, { ...options, schema });
}

/** A function of the schema. */
interface Asked {
  readonly name: string;
  /** For messages. */
  readonly what: string;
  readonly isRead?: boolean;
}

interface RecordAnswer extends Answer {
  readonly outcome: string;
  readonly record: ShownRecord | null;
}

class OnceInPostgres implements PostgresOnce {
  readonly promises: OncePromises = {
    store: 'postgres',
    durability: 'crash',
    limits:
      'A failover to a standby that is not synchronous may forget keys, which are begun anew. While the clock of the server jumps forward, an attempt that still runs counts as unknown.',
  };
  readonly #source: string | PostgresPool;
  readonly #place: {
    readonly schema: string;
    readonly quotedSchema: string;
    readonly runtime: Runtime;
  };
  readonly #namespace: string;
  readonly #lines: Lines;
  readonly #operations: PostgresOperations;
  #closing: Promise<void> | undefined;

  constructor(
    source: string | PostgresPool,
    options: PostgresOnceOptions & { readonly schema: string },
  ) {
    const { schema, namespace = 'default' } = options;
    const { maxConnections = 4, connectTimeoutMs = 2_000 } = options;
    const runtime = requireRuntime(options.runtime);
    const quotedSchema = quoteSchema(schema);
    checkDuration('connectTimeoutMs', connectTimeoutMs, 1, 600_000);
    if (!Number.isInteger(maxConnections) || maxConnections < 1 || maxConnections > 100) {
      const remedy = 'use a whole number from 1 to 100';
      throw new OptionError('maxConnections', maxConnections, 'is no such number', remedy);
    }
    this.#source = source;
    this.#place = { schema, quotedSchema, runtime };
    this.#namespace = validateName(namespace, 'namespace');
    const check = onceServerCheck(schema, quotedSchema);
    this.#lines =
      typeof source === 'string'
        ? new OwnLines(source, { runtime, check, maxConnections, connectTimeoutMs })
        : new GuestLines(requirePool(source), { runtime, check });
    this.#operations = new PostgresOperations(this.#lines, runtime, lateState);
  }

  on<Name extends keyof LineEvents>(
    name: Name,
    listener: (event: LineEvents[Name]) => void,
  ): Unsubscribe {
    return this.#lines.on(name, listener);
  }

  async migrate(): Promise<Migration> {
    this.#throwIfClosed();
    return await migrateOnce(this.#source, this.#place);
  }

  async begin(request: OnceBeginRequest, call: CallOptions): Promise<OnceBeginResult> {
    const { key, nonce, startedBy, timeoutMs, keepUnknownMs, repeat } = checkBegin(request);
    const { outcome, record } = await this.#write('begin', call, [
      key,
      ...[nonce, startedBy, timeoutMs, keepUnknownMs],
      ...[repeat?.attempt, repeat?.startedAtMs, repeat?.by, repeat?.reason],
    ]);
    return { outcome, record } as OnceBeginResult;
  }

  async end(request: OnceEndRequest, call: CallOptions): Promise<OnceEndResult> {
    const { key, nonce, end } = checkEnd(request);
    const state = end.kind === 'not-applied' ? 'free' : end.kind;
    const result = end.kind === 'done' ? end.result : undefined;
    const values = [state, end.keepMs, result, end.detail];
    const { outcome, record } = await this.#write('end', call, [key, nonce, ...values]);
    return { outcome, record } as OnceEndResult;
  }

  async settle(request: OnceSettleRequest, call: CallOptions): Promise<OnceSettleResult> {
    const { key, nonce, of, end, by, reason } = checkSettle(request);
    const ends =
      end.kind === 'done'
        ? ['done', end.keepMs, end.result, undefined]
        : ['free', end.keepMs, undefined, reason];
    const { outcome, record } = await this.#write('settle', call, [
      key,
      ...[nonce, of?.attempt, of?.startedAtMs, ...ends],
      ...[by, reason, end.kind],
    ]);
    return { outcome, record } as OnceSettleResult;
  }

  async read(key: string, call: CallOptions): Promise<OnceRecord | undefined> {
    const asked = { name: 'once_read', what: titleOf('read', validateKey(key)), isRead: true };
    return (await this.#recordOf(key, this.#run<RecordAnswer>(asked, call, [key]))).record;
  }

  async unknown(options: OnceUnknownOptions, call: CallOptions): Promise<OnceRecord[]> {
    const { limit, after } = checkUnknownOptions(options);
    const values = [limit, after?.deadlineAtMs, after?.key];
    const asked = { name: 'once_unknown', what: 'the reading of unknown keys', isRead: true };
    const { records } = await this.#run<Answer & { records: RecordAnswer['record'][] }>(
      ...[asked, call, values],
    );
    return records
      .map((record) => parseRecord(record, String(record?.key)))
      .filter((record) => record !== undefined);
  }

  async forget(limit: number, call: CallOptions): Promise<number> {
    const values = [checkLimit(limit)];
    const asked = { name: 'once_forget', what: 'the forgetting of expired keys' };
    const { count } = await this.#run<Answer & { count: number }>(asked, call, values);
    return count;
  }

  close(): Promise<void> {
    this.#closing ??= this.#lines.close();
    return this.#closing;
  }

  /** @param values the key is the first. */
  #write(
    operation: 'begin' | 'end' | 'settle',
    call: CallOptions,
    values: readonly [key: string, ...unknown[]],
  ) {
    const [key] = values;
    const asked = { name: `once_${operation}`, what: titleOf(operation, key) };
    return this.#recordOf(key, this.#run<RecordAnswer>(asked, call, values));
  }

  async #recordOf(key: string, answered: Promise<RecordAnswer>) {
    const { outcome, record } = await answered;
    if (outcome === 'corrupt') throw corruptKey(key);
    return { outcome, record: parseRecord(record, key) };
  }

  /** Calls a function with the namespace; if it changes something, the time after which it must not; and the values. */
  async #run<Result extends Answer>(
    { name, what, isRead = false }: Asked,
    call: CallOptions,
    values: readonly unknown[],
  ): Promise<Result> {
    const timeoutMs = checkCall(call);
    this.#throwIfClosed();
    const given = values.map((value) => value ?? null);
    const count = given.length + (isRead ? 1 : 2);
    const places = Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
    const text = `SELECT ${this.#place.quotedSchema}.${name}(${places})::text AS answer`;
    return await this.#operations.run<Result>({
      ...{ what, text, timeoutMs, isRead },
      values: (notAfterMs) => [this.#namespace, ...(isRead ? [] : [notAfterMs]), ...given],
    });
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClosedError('this store of keys');
  }
}

function requirePool(pool: PostgresPool): PostgresPool {
  if (isPool(pool)) return pool;
  const remedy = 'pass a postgres:// URL, or a Pool of the package pg';
  throw new OptionError('urlOrPool', pool, 'is neither a URL nor a pool', remedy);
}
