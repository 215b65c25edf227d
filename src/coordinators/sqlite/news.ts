import type { SqliteRow, SqliteTransaction } from '../../drivers/sqlite/index.js';
import { type Call, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { groupOf } from '../names.js';
import { whoMayHave } from '../rules/calls.js';
import { SqliteLedger } from './ledger.js';

const readWakeRange =
  'SELECT (SELECT MIN(number) FROM wake) AS first, (SELECT MAX(number) FROM wake) AS last';
const readWakes = 'SELECT name FROM wake WHERE number > ? AND namespace = ?';

/** The moments at which what stands under a name changes by itself: a lease, its lock-delay, its reservation end. */
const turningPoints = (of: string) => `
  SELECT name, deadline_ms AS at_ms FROM lease WHERE ${of}
  UNION ALL SELECT name, deadline_ms + grace_ms FROM lease WHERE ${of} AND grace_ms > 0
  UNION ALL SELECT name, deadline_ms + grace_ms + reserve_ms FROM lease WHERE ${of} AND reserve_ms > 0`;
const pointsOfGroup = turningPoints('namespace = ? AND name_group = ?');
const pointsOfName = turningPoints('namespace = ? AND name = ?');
const passedInGroup = `SELECT DISTINCT name FROM (${pointsOfGroup}) WHERE at_ms > ? AND at_ms <= ?`;
const nextInGroup = `SELECT MIN(at_ms) AS at_ms FROM (${pointsOfGroup}) WHERE at_ms > ?`;
const nextOfName = `SELECT MIN(at_ms) AS at_ms FROM (${pointsOfName}) WHERE at_ms > ?`;

export interface Watch {
  readonly group: string;
  readonly wake: (name: string | undefined) => void;
}

export interface Waiter {
  readonly holder: Holder;
  readonly called: (call: Call) => void;
  /** The names it waits for, and whether it knows that they may be had. */
  known: ReadonlyMap<string, boolean>;
}

/** What one look found: whom to tell what. */
export type News = (() => void)[];

interface Wakes {
  readonly lastNumber: number;
  readonly names: ReadonlySet<string> | undefined;
}

/** The next moment at which something changes by itself, as far as one look has got. */
interface Point {
  nextMs: number;
}

/** Finds out, look by look, what those who listen are to be told. */
export class NewsReader {
  readonly watches = new Set<Watch>();
  readonly waiters = new Set<Waiter>();
  readonly #namespace: string;
  #lookedAtMs: number | undefined;
  /** The last wake in the file that was told; `undefined` before the first look at a file. */
  #wakeNumber: number | undefined;
  #nextPointMs = Number.POSITIVE_INFINITY;
  #hasLostFile = false;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  get listenerCount(): number {
    return this.watches.size + this.waiters.size;
  }

  /** When, by the file's clock, the next of the names that somebody listens for changes by itself. */
  get nextPointMs(): number {
    return this.#nextPointMs;
  }

  /** The next look is at another file. */
  noteLostFile(): void {
    this.#hasLostFile = true;
    this.#wakeNumber = undefined;
  }

  /** Nobody listens: the next look is a first one. */
  forget(): void {
    this.#lookedAtMs = undefined;
    this.#wakeNumber = undefined;
    this.#hasLostFile = false;
  }

  /** What it learned counts only once all of it is read: a look that breaks off tells nothing, so the next one has to. */
  read(transaction: SqliteTransaction): News {
    const { nowMs } = transaction;
    const wakes = this.#readWakes(transaction);
    const woken = wakes.names ?? new Set<string>();
    const point = { nextMs: Number.POSITIVE_INFINITY };
    const news: News = wakes.names === undefined ? this.#tellAll() : [];
    for (const group of new Set([...this.watches].map((watch) => watch.group))) {
      for (const name of this.#namesToTell(transaction, group, woken, point))
        news.push(() => this.#wake(group, name));
    }
    const ledger = new SqliteLedger(transaction, this.#namespace);
    const known = new Map<Waiter, ReadonlyMap<string, boolean>>();
    for (const waiter of this.waiters) {
      const found = this.#lookFor(waiter, ledger, transaction, woken, point);
      known.set(waiter, found.known);
      news.push(...found.calls);
    }
    for (const [waiter, names] of known) waiter.known = names;
    this.#lookedAtMs = nowMs;
    this.#wakeNumber = wakes.lastNumber;
    this.#hasLostFile = false;
    this.#nextPointMs = point.nextMs;
    return news;
  }

  #wake(group: string, name: string): void {
    for (const watch of [...this.watches]) if (watch.group === group) this.#wakeOne(watch, name);
  }

  // Whoever was told before may have taken back what is to be told next.

  #wakeOne(watch: Watch, name: string | undefined): void {
    if (this.watches.has(watch)) watch.wake(name);
  }

  #call(waiter: Waiter, call: Call): void {
    if (this.waiters.has(waiter)) waiter.called(call);
  }

  /** Names that somebody left word of since the last look; no names at all: it cannot be told which. */
  #readWakes(transaction: SqliteTransaction): Wakes {
    const range = transaction.get(readWakeRange);
    const [first, last] = [Number(range?.first ?? 0), Number(range?.last ?? 0)];
    const since = this.#wakeNumber;
    if (this.#hasLostFile) return { lastNumber: last, names: undefined };
    if (since === undefined || last === since) return { lastNumber: last, names: new Set() };
    if (last < since || first > since + 1) return { lastNumber: last, names: undefined };
    const rows = transaction.all(readWakes, since, this.#namespace);
    return { lastNumber: last, names: new Set(rows.map(({ name }) => String(name))) };
  }

  #tellAll(): News {
    const wakes = [...this.watches].map((watch) => () => this.#wakeOne(watch, undefined));
    const call = { name: undefined, position: 0 };
    return [...wakes, ...[...this.waiters].map((waiter) => () => this.#call(waiter, call))];
  }

  #namesToTell(
    transaction: SqliteTransaction,
    group: string,
    woken: ReadonlySet<string>,
    point: Point,
  ): Set<string> {
    const key = [this.#namespace, group, this.#namespace, group, this.#namespace, group] as const;
    const { nowMs } = transaction;
    const passed = transaction.all(passedInGroup, ...key, this.#lookedAtMs ?? nowMs, nowMs);
    notePoint(point, transaction.get(nextInGroup, ...key, nowMs));
    return new Set([
      ...[...woken].filter((name) => groupOf(name) === group),
      ...passed.map(({ name }) => String(name)),
    ]);
  }

  /** Called once for each time that a name may be had: known to the waiter by its enrollment, or by an earlier call. */
  #lookFor(
    waiter: Waiter,
    ledger: SqliteLedger,
    transaction: SqliteTransaction,
    woken: ReadonlySet<string>,
    point: Point,
  ): { readonly known: ReadonlyMap<string, boolean>; readonly calls: News } {
    const { holder } = waiter;
    const known = new Map<string, boolean>();
    const calls = ledger.candidates.namesOf(holder).flatMap((name) => {
      const key = [this.#namespace, name, this.#namespace, name, this.#namespace, name] as const;
      notePoint(point, transaction.get(nextOfName, ...key, transaction.nowMs));
      const position = whoMayHave(ledger, name, transaction.nowMs).findIndex((one) =>
        one.holder.equals(holder),
      );
      const mayHave = position >= 0;
      const knows = woken.has(name) ? false : (waiter.known.get(name) ?? mayHave);
      const isCalled = mayHave && !knows && position < calledCount;
      known.set(name, mayHave && (knows || isCalled));
      return isCalled ? [() => this.#call(waiter, { name, position })] : [];
    });
    return { known, calls };
  }
}

function notePoint(point: Point, row: SqliteRow | undefined): void {
  if (typeof row?.at_ms === 'number') point.nextMs = Math.min(point.nextMs, row.at_ms);
}
