import type { PostgresQueryable, PostgresResult } from '../../drivers/postgres/index.js';
import { mentions, sqlStateOf } from '../../drivers/postgres/index.js';
import { requireKnown, requireObject } from '../../errors/checks.js';
import { OptionError, StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import type { FencingToken } from '../contract.js';
import { corruptTerm } from '../corrupt.js';
import { refusalOf } from '../refusal.js';
import { type Candidate, type InstalledTerm, judge, termIn, validateToken } from '../rule.js';
import { askAlone } from './row-guard-statement.js';
import { quoteColumn, quoteTable } from './row-names.js';
import { carriesNothing, migrationOf, refusedState, triggerOf } from './row-schema.js';
import { commitDurably } from './statements.js';

export interface PostgresRowGuardOptions {
  /** The table: `name` or `schema.name`, each 1 to 63 letters, digits and underscores. */
  readonly table: string;
  /** The column of its primary key, or of another unique index. */
  readonly key: string;
}

/** Values by column. Columns are validated and quoted; values are only ever bound. */
export type RowValues = Readonly<Record<string, unknown>>;

/** A fence per row, for a table each of whose rows is an owned thing. See {@link postgresRowGuard}. */
export interface PostgresRowGuard {
  /** Adds the columns `tenure_term` and `tenure_holder`, unless they are there. */
  readonly migrationSql: string;
  /**
   * Protects the table also from code that knows nothing of this: after it, an `INSERT`, `UPDATE` or `DELETE` whose
   * transaction carries no token, or a stale one, is refused (`TN001`, `TN002`). Statements of this guard carry theirs;
   * for others there is {@link carry}. `TRUNCATE` and the owner of the table are not stopped.
   */
  readonly triggerSql: string;
  /** Installs the token's term in the row, before its owner reads it. `false` if there is no such row. */
  claim(client: PostgresQueryable, token: FencingToken, key: unknown): Promise<boolean>;
  /**
   * Changes the row, and installs the token's term in it, in one statement.
   *
   * @returns `false` if there is no such row.
   * @throws {StaleTermError} if the row has a higher term, or an equal one of another holder; nothing is changed.
   * {@link StoreMisconfiguredError} if several rows have this key: they were changed, unless a transaction takes it back.
   */
  update(
    client: PostgresQueryable,
    token: FencingToken,
    key: unknown,
    values: RowValues,
  ): Promise<boolean>;
  /** The same, or adds the row if there is none. @throws {StaleTermError} */
  upsert(
    client: PostgresQueryable,
    token: FencingToken,
    key: unknown,
    values: RowValues,
  ): Promise<void>;
  /** For statements of your own on a table with the trigger: they carry the token until the transaction ends. */
  carry(client: PostgresQueryable, token: FencingToken): Promise<void>;
}

/**
 * Keeps a term and its holder in each row: for rows that have owners of their own, and are written one by one. One
 * statement checks and writes, so it needs no transaction; inside one it is as good. The holder is kept as a digest.
 *
 * A row without a term takes any. Deleting a row forgets its term: keep a mark instead, where an old owner might add it
 * again. A table without the columns of `migrationSql` is a {@link StoreMisconfiguredError}. What PostgreSQL answers otherwise (a
 * constraint, a lost connection) passes as it is. Of a pool, a client that its last user left inside a transaction is refused
 * (`StoreRefusedError`, `TN013`): that one is rolled back, nothing is written.
 *
 * @throws {OptionError} if the table or the key is no name tenure takes.
 */
export function postgresRowGuard(options: PostgresRowGuardOptions): PostgresRowGuard {
  requireKnown('options', options, { table: true, key: true }, 'pass { table, key }');
  return new RowGuard(quoteTable(options.table), quoteColumn('key', options.key));
}

const undefinedColumn = '42703';
const ownColumns = ['tenure_term', 'tenure_holder'];

/** A row that changes between the statement and the look at it, every time: nobody is that unlucky. */
const mostLooks = 10;

class RowGuard implements PostgresRowGuard {
  readonly migrationSql: string;
  readonly triggerSql: string;
  readonly #table: string;
  readonly #key: string;

  constructor(table: string, key: string) {
    this.#table = table;
    this.#key = key;
    this.migrationSql = migrationOf(table);
    this.triggerSql = triggerOf(table);
  }

  async claim(client: PostgresQueryable, token: FencingToken, key: unknown): Promise<boolean> {
    return await this.update(client, token, key, {});
  }

  async update(
    client: PostgresQueryable,
    token: FencingToken,
    key: unknown,
    values: RowValues,
  ): Promise<boolean> {
    const { columns, bound } = this.#split(values);
    const sets = columns.map((column, index) => `, ${column} = $${index + 4}`).join('');
    const text = `UPDATE ${this.#table} AS r SET tenure_term = $1::bigint, tenure_holder = $2::text${sets}
FROM ${carried} WHERE c.is_carried AND r.${this.#key} = $3 AND ${passes}`;
    return await this.#write(client, token, key, { text, bound });
  }

  async upsert(
    client: PostgresQueryable,
    token: FencingToken,
    key: unknown,
    values: RowValues,
  ): Promise<void> {
    const { columns, bound } = this.#split(values);
    const names = columns.map((column) => `, ${column}`).join('');
    const places = columns.map((_, index) => `, $${index + 4}`).join('');
    const sets = columns.map((column) => `, ${column} = excluded.${column}`).join('');
    const text = `INSERT INTO ${this.#table} AS r (tenure_term, tenure_holder, ${this.#key}${names})
SELECT $1::bigint, $2::text, $3${places} FROM ${carried} WHERE c.is_carried
ON CONFLICT (${this.#key}) DO UPDATE SET tenure_term = excluded.tenure_term, tenure_holder = excluded.tenure_holder${sets}
WHERE ${passes}`;
    await this.#write(client, token, key, { text, bound });
  }

  async carry(client: PostgresQueryable, token: FencingToken): Promise<void> {
    const { term, holderDigest } = validateToken('postgres', token);
    const values = [`${term}:${holderDigest}`];
    await client.query(
      `SELECT set_config('tenure.row_token', $1, true) WHERE ${commitDurably}`,
      values,
    );
  }

  /** One statement; if it changed nothing, a look at why: there is no row, or what stands in it is newer. */
  async #write(
    client: PostgresQueryable,
    token: FencingToken,
    key: unknown,
    { text, bound }: { readonly text: string; readonly bound: readonly unknown[] },
  ): Promise<boolean> {
    const candidate = validateToken('postgres', token);
    const { name, term, holderDigest } = candidate;
    for (let look = 0; look < mostLooks; look++) {
      const values = [term, holderDigest, key, ...bound];
      const { rowCount } = await this.#ask(client, writing(name), text, values);
      if (rowCount === 1) return true;
      if ((rowCount ?? 0) > 1) throw severalRows(name, this.#key, rowCount);
      const installed = await this.#installed(client, candidate, key);
      if (installed === undefined) return false;
      if (judge(installed.term === 0 ? undefined : installed, candidate) === 'refuse')
        throw refusalOf(candidate, installed);
    }
    throw new StoreRefusedError(
      'CONFLICT',
      `${writing(name)} was refused, nothing was written: the row changed all the time. Try again.`,
    );
  }

  /** `undefined`: there is no row. Term 0: it has none yet. */
  async #installed(
    client: PostgresQueryable,
    { name }: Candidate,
    key: unknown,
  ): Promise<InstalledTerm | undefined> {
    const text = `SELECT tenure_term::text AS term, tenure_holder AS holder FROM ${this.#table} WHERE ${this.#key} = $1`;
    const { rows } = await this.#ask<Kept>(client, writing(name), text, [key]);
    const [row] = rows;
    if (row === undefined) return undefined;
    if (row.term === null) return { term: 0, holderDigest: '' };
    const term = termIn(row.term);
    if (term !== undefined) return { term, holderDigest: row.holder ?? '' };
    throw corruptTerm(`tenure_term of the row that is written under "${name}" in ${this.#table}`);
  }

  async #ask<Row extends object>(
    client: PostgresQueryable,
    what: string,
    text: string,
    values: unknown[],
  ): Promise<PostgresResult<Row>> {
    try {
      return await askAlone<Row>(client, what, text, values);
    } catch (error) {
      const lacksColumn =
        sqlStateOf(error) === undefinedColumn &&
        ownColumns.some((column) => mentions(error, column));
      if (!lacksColumn) throw error;
      throw new StoreMisconfiguredError(
        `${what} was refused: the table ${this.#table} has no columns tenure_term and tenure_holder. Run the guard's migrationSql once, by a role that owns the table.`,
        error,
      );
    }
  }

  #split(values: RowValues) {
    requireObject('values', values, 'pass { column: value }');
    const entries = Object.entries(values);
    const columns = entries.map(([column]) => quoteColumn('values', column));
    const own = ['"tenure_term"', '"tenure_holder"', this.#key];
    const wrong = columns.find((column) => own.includes(column));
    if (wrong !== undefined)
      throw new OptionError('values', wrong, 'is set by the guard itself', 'leave it out');
    return { columns, bound: entries.map(([, value]) => value) };
  }
}

/** The rule of every fence: higher, or equal from the same holder. A row without a term takes any. */
const passes = `(r.tenure_term IS NULL OR r.tenure_term BETWEEN 1 AND $1::bigint - 1
  OR (r.tenure_term = $1::bigint AND r.tenure_holder = $2::text))`;

/**
 * For the trigger, if there is one; and a term that a crash forgets would let an old owner in again. Both until the
 * transaction ends, which without BEGIN is this statement.
 */
const carried = `(SELECT set_config('tenure.row_token', $1::bigint || ':' || $2::text, true) IS NOT NULL
  AND ${commitDurably} AS is_carried) AS c`;

/** What a row keeps of its owner. */
interface Kept {
  readonly term: string | null;
  readonly holder: string | null;
}

const writing = (name: string) => `the write of a row under "${name}"`;

function severalRows(name: string, key: string, rowCount: unknown): StoreMisconfiguredError {
  return new StoreMisconfiguredError(
    `${writing(name)} changed ${rowCount} rows: the column ${key} is not unique. Roll back, or look at these rows; then give it a unique index.`,
  );
}

/**
 * Whether an error of the `pg` client is a refusal by the trigger that {@link PostgresRowGuard.triggerSql} makes: `TN001`, its
 * transaction carries no token; or `TN002`, it carries a stale one.
 */
export function isRowRefusal(error: unknown): boolean {
  return [carriesNothing, refusedState].includes(sqlStateOf(error) ?? '');
}
