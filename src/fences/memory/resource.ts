import { ClosedError, StoreRefusedError } from '../../errors/index.js';
import { type Entry, TableView } from './table.js';

type CommittedTables = Map<string, Map<string, Entry<unknown>>>;

/** The table that `get`, `set` and `delete` of a transaction work on. */
const dataTable = 'data';

/**
 * A transactional map in this process: the smallest resource a fence can guard, for tests and demonstrations.
 *
 * Transactions are optimistic. Each buffers its writes and commits all of them in one synchronous step, unless a value
 * it read was changed by another one meanwhile. No transaction ever waits for another, so a stuck one blocks nobody.
 */
export class MemoryResource {
  readonly #tables: CommittedTables = new Map();

  /** The committed value of a key: a copy, or `undefined`. */
  read(key: string): unknown {
    return structuredClone(this.#tables.get(dataTable)?.get(key)?.value);
  }

  /**
   * Runs `work` in a transaction: committed when its promise resolves, dropped when it rejects. On its own it is not
   * fenced: call `fence.check(transaction, token)` first, or use `fence.transaction`.
   *
   * @throws {StoreRefusedError} `CONFLICT`, with nothing written, if another transaction changed a value this one read.
   */
  async transaction<Result>(
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    const transaction = new MemoryTransaction(this, this.#tables);
    try {
      const result = await work(transaction);
      transaction.commit();
      return result;
    } finally {
      transaction.end();
    }
  }
}

/** An open transaction on a {@link MemoryResource}. Values go in and come out as copies. */
export class MemoryTransaction {
  readonly resource: MemoryResource;
  readonly #committed: CommittedTables;
  readonly #views = new Map<string, TableView<unknown>>();
  readonly #guards: (() => void)[] = [];
  #ended = false;

  /** @internal Use {@link MemoryResource.transaction}. */
  constructor(resource: MemoryResource, committed: CommittedTables) {
    this.resource = resource;
    this.#committed = committed;
  }

  get(key: string): unknown {
    return structuredClone(this.table(dataTable).get(key));
  }

  /** @param value anything `structuredClone` takes. */
  set(key: string, value: unknown): void {
    this.table(dataTable).set(key, structuredClone(value));
  }

  delete(key: string): void {
    this.table(dataTable).delete(key);
  }

  /** This transaction's view of a named table; a fence keeps its own state in tables of the resource it guards. */
  table<Value>(name: string): TableView<Value> {
    // A write that reaches a transaction after its end would vanish without a trace.
    if (this.#ended) throw new ClosedError('the memory transaction');
    let view = this.#views.get(name);
    if (view === undefined) {
      let committed = this.#committed.get(name);
      if (committed === undefined) {
        committed = new Map();
        this.#committed.set(name, committed);
      }
      view = new TableView(committed);
      this.#views.set(name, view);
    }
    return view as TableView<Value>;
  }

  /** Adds a condition that is judged in the same step as the commit: if `guard` throws, nothing is written. */
  guardCommit(guard: () => void): void {
    this.#guards.push(guard);
  }

  /** @internal */
  commit(): void {
    // Everything from here to the last `apply` is synchronous, which is what makes check and effect one step.
    for (const guard of this.#guards) guard();
    for (const [name, view] of this.#views) {
      const key = view.firstConflict();
      if (key !== undefined) throw conflict(name, key);
    }
    for (const view of this.#views.values()) view.apply();
  }

  /** @internal */
  end(): void {
    this.#ended = true;
  }
}

function conflict(table: string, key: string): StoreRefusedError {
  const what = table === dataTable ? `the value of "${key}"` : `a row of ${table}`;
  return new StoreRefusedError(
    'CONFLICT',
    `the memory transaction was not committed: ${what} was changed by another transaction after this one read it; run it again.`,
  );
}
