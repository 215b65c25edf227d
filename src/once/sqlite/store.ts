import { type CallOptions, validateName } from '../../coordinators/index.js';
import { leaseSchema } from '../../coordinators/sqlite/schema.js';
import { SqliteSession, sqlitePath } from '../../drivers/sqlite/index.js';
import { type Known, requireKnown } from '../../errors/checks.js';
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
  checkEnd,
  checkLimit,
  checkSettle,
  checkUnknownOptions,
  validateKey,
} from '../requests.js';
import { decideBegin, decideEnd, decideSettle } from '../rules/decisions.js';
import { titleOf } from '../titles.js';
import { OnceRows } from './rows.js';

export interface SqliteOnceOptions {
  /** Stores of one namespace of one file share their keys. Written like a name of a lease. Default `default`. */
  readonly namespace?: string;
  /** Creates the folder of the file if it is not there. Default `false`. */
  readonly createDirectory?: boolean;
  /** Clock and timers; for tests. Default: those of this process. */
  readonly runtime?: Runtime;
}

const optionKeys: Known<SqliteOnceOptions> = {
  namespace: true,
  createDirectory: true,
  runtime: true,
};

/**
 * Keys in a file, for the processes of one machine: in the table `once_key`, beside the leases of `sqliteCoordinator`, which
 * need not be used. Needs Node 22.13 or later, or the package `libsql`.
 *
 * Every change is one transaction that is on disk before it resolves. Deadlines are on the kernel's clock, which nobody
 * can set; after a restart of the machine every attempt that was under way is unknown. A process that is stopped inside a
 * transaction keeps others from writing until it goes on or ends.
 *
 * @param location a path, `sqlite:PATH` or such a URL: a file of tenure's own, not one of your program.
 * @throws {OptionError} if it or an option cannot be used.
 */
export function sqliteOnce(location: string | URL, options: SqliteOnceOptions = {}): OnceStore {
  return new OnceInFile(location, requireKnown('options', options, optionKeys));
}

class OnceInFile implements OnceStore {
  readonly promises: OncePromises = {
    store: 'sqlite',
    durability: 'crash',
    limits:
      'The processes of one machine, while its disk keeps what was written. When keys are forgotten is judged by the wall clock.',
  };
  readonly #namespace: string;
  readonly #session: SqliteSession;

  constructor(location: string | URL, options: SqliteOnceOptions) {
    const { namespace = 'default', createDirectory = false } = options;
    this.#namespace = validateName(namespace, 'namespace');
    this.#session = new SqliteSession({
      what: 'this store of keys',
      path: sqlitePath(location),
      schema: leaseSchema,
      runtime: requireRuntime(options.runtime),
      createDirectory,
    });
  }

  async begin(request: OnceBeginRequest, call: CallOptions): Promise<OnceBeginResult> {
    const checked = checkBegin(request);
    const { key, timeoutMs } = checked;
    return this.#call(titleOf('begin', key), 'write', call, (rows) => {
      const { outcome, stored, isChanged } = decideBegin(rows.find(key), checked);
      if (isChanged) rows.put(key, stored, timeoutMs);
      return { outcome, record: rows.record(key) as OnceRecord };
    });
  }

  async end(request: OnceEndRequest, call: CallOptions): Promise<OnceEndResult> {
    const checked = checkEnd(request);
    const { key } = checked;
    return this.#call(titleOf('end', key), 'write', call, (rows) => {
      const decision = decideEnd(rows.find(key), checked);
      if (decision.outcome === 'superseded')
        return { outcome: 'superseded', record: rows.record(key) };
      if (decision.isChanged) rows.put(key, decision.stored);
      return { outcome: 'recorded', record: rows.record(key) as OnceRecord };
    });
  }

  async settle(request: OnceSettleRequest, call: CallOptions): Promise<OnceSettleResult> {
    const checked = checkSettle(request);
    const { key } = checked;
    return this.#call(titleOf('settle', key), 'write', call, (rows) => {
      const decision = decideSettle(rows.find(key), checked);
      if (decision.outcome === 'refused') return { outcome: 'refused', record: rows.record(key) };
      if (decision.isChanged) rows.put(key, decision.stored);
      return { outcome: 'settled', record: rows.record(key) as OnceRecord };
    });
  }

  async read(key: string, call: CallOptions): Promise<OnceRecord | undefined> {
    validateKey(key);
    return this.#call(titleOf('read', key), 'read', call, (rows) => rows.record(key));
  }

  async unknown(options: OnceUnknownOptions, call: CallOptions): Promise<OnceRecord[]> {
    const checked = checkUnknownOptions(options);
    return this.#call('the reading of unknown keys', 'read', call, (rows) => rows.unknown(checked));
  }

  async forget(limit: number, call: CallOptions): Promise<number> {
    checkLimit(limit);
    return this.#call('the forgetting of expired keys', 'write', call, (rows) =>
      rows.forget(limit),
    );
  }

  async close(): Promise<void> {
    this.#session.close();
  }

  #call<Answer>(
    operation: string,
    mode: 'read' | 'write',
    call: CallOptions,
    execute: (rows: OnceRows) => Answer,
  ): Promise<Answer> {
    const timeoutMs = checkCall(call);
    const session = this.#session;
    return session.call(operation, mode, timeoutMs, (transaction) =>
      execute(new OnceRows(transaction, session.clock, this.#namespace)),
    );
  }
}
