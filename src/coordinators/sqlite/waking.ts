import { listen, type SqliteSession, type SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import { type Call, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { groupOf } from '../names.js';
import { describeName } from '../rules/standing.js';
import { SqliteLedger } from './ledger.js';

/**
 * A file tells nobody that it changed, so who wants to know looks. A look that finds nothing new asks the kernel which
 * file is there and SQLite for its version, some ten microseconds in all: this often costs a process next to nothing, and
 * is soon enough for people and for leases of seconds.
 */
const lookEveryMs = 75;
/** However soon the next deadline is, and however busy the file. */
const shortestPauseMs = 5;

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

interface Watch {
  readonly group: string;
  readonly wake: (name: string | undefined) => void;
}

interface Waiter {
  readonly holder: Holder;
  readonly called: (call: Call) => void;
  /** The names it waits for, and whether it knows that they may be had. */
  readonly known: Map<string, boolean>;
}

/** What one look found: whom to tell what. */
type News = (() => void)[];

/** Tells who watches a group that a name became free, and calls those whose turn it is. Looks only while somebody listens. */
export class Waking {
  readonly #session: SqliteSession;
  readonly #namespace: string;
  readonly #runtime: Runtime;
  readonly #watches = new Set<Watch>();
  readonly #waiters = new Set<Waiter>();
  #stopListening: Unsubscribe | undefined;
  #timer: Timer | undefined;
  #isLookDue = false;
  /** The version of the file when it was last looked at; `undefined`: look whatever it is. */
  #version: number | undefined;
  #lookedAtMs: number | undefined;
  /** The last wake in the file that was told; `undefined` before the first look at a file. */
  #wakeNumber: number | undefined;
  #nextPointMs = Number.POSITIVE_INFINITY;
  #hasLostFile = false;

  constructor(session: SqliteSession, namespace: string, runtime: Runtime) {
    this.#session = session;
    this.#namespace = namespace;
    this.#runtime = runtime;
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    return this.#add(this.#watches, { group, wake });
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#add(this.#waiters, { holder, called, known: new Map() });
  }

  close(): void {
    this.#watches.clear();
    this.#waiters.clear();
    this.#rest();
  }

  #add<Listener>(listeners: Set<Listener>, listener: Listener): Unsubscribe {
    listeners.add(listener);
    this.#stopListening ??= this.#begin();
    this.#version = undefined;
    this.#session.warm();
    this.#lookSoon();
    return () => {
      listeners.delete(listener);
      if (this.#watches.size + this.#waiters.size === 0) this.#rest();
    };
  }

  #begin(): Unsubscribe {
    const leaveBell = listen(this.#session.path, () => {
      this.#version = undefined;
      this.#lookSoon();
    });
    const leaveSession = this.#session.on('lost', () => {
      this.#hasLostFile = true;
      this.#wakeNumber = undefined;
    });
    return () => {
      leaveBell();
      leaveSession();
    };
  }

  #rest(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lookedAtMs = undefined;
    this.#wakeNumber = undefined;
    this.#hasLostFile = false;
  }

  /** After what is going on now, and once for all that rings meanwhile. */
  #lookSoon(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    queueMicrotask(() => {
      this.#isLookDue = false;
      if (this.#stopListening !== undefined) this.#look();
    });
  }

  #look(): void {
    this.#timer?.cancel();
    const version = this.#session.dataVersion();
    const isOld = version !== undefined && version === this.#version && !this.#isPointPassed();
    const news = isOld ? [] : this.#session.peek((transaction) => this.#read(transaction));
    // The version from before the look: what was written since is looked at next time.
    this.#version = news === undefined ? undefined : version;
    this.#lookAgainIn(news === undefined ? lookEveryMs : this.#untilNextPointMs());
    for (const tell of news ?? []) tell();
  }

  #lookAgainIn(pauseMs: number): void {
    this.#timer = this.#runtime.setTimer(
      Math.min(lookEveryMs, Math.max(shortestPauseMs, pauseMs)),
      () => this.#look(),
      { keepsProcessAlive: false },
    );
  }

  #isPointPassed(): boolean {
    return this.#untilNextPointMs() <= 0;
  }

  #untilNextPointMs(): number {
    if (this.#nextPointMs === Number.POSITIVE_INFINITY) return this.#nextPointMs;
    return this.#nextPointMs - this.#session.clock.now().nowMs;
  }

  #read(transaction: SqliteTransaction): News {
    const { nowMs } = transaction;
    const woken = this.#readWakes(transaction);
    const sinceMs = this.#lookedAtMs ?? nowMs;
    this.#lookedAtMs = nowMs;
    this.#nextPointMs = Number.POSITIVE_INFINITY;
    const news: News = woken === undefined ? this.#tellAll() : [];
    for (const group of new Set([...this.#watches].map((watch) => watch.group))) {
      for (const name of this.#namesToTell(transaction, group, sinceMs, woken ?? new Set()))
        news.push(() => this.#wake(group, name));
    }
    const ledger = new SqliteLedger(transaction, this.#namespace);
    for (const waiter of this.#waiters)
      news.push(...this.#callsFor(waiter, ledger, transaction, woken ?? new Set()));
    return news;
  }

  #wake(group: string, name: string): void {
    for (const watch of [...this.#watches]) if (watch.group === group) watch.wake(name);
  }

  /** Names that somebody left word of since the last look; `undefined`: it cannot be told which. */
  #readWakes(transaction: SqliteTransaction): Set<string> | undefined {
    const range = transaction.get(readWakeRange);
    const [first, last] = [Number(range?.first ?? 0), Number(range?.last ?? 0)];
    const since = this.#wakeNumber;
    this.#wakeNumber = last;
    const hasLostFile = this.#hasLostFile;
    this.#hasLostFile = false;
    if (hasLostFile) return undefined;
    if (since === undefined) return new Set();
    if (last < since || first > since + 1) return undefined;
    if (last === since) return new Set();
    const rows = transaction.all(readWakes, since, this.#namespace);
    return new Set(rows.map(({ name }) => String(name)));
  }

  #tellAll(): News {
    return [
      ...[...this.#watches].map(
        ({ wake }) =>
          () =>
            wake(undefined),
      ),
      ...[...this.#waiters].map(
        ({ called }) =>
          () =>
            called({ name: undefined, position: 0 }),
      ),
    ];
  }

  #namesToTell(
    transaction: SqliteTransaction,
    group: string,
    sinceMs: number,
    woken: ReadonlySet<string>,
  ): Set<string> {
    const key = [this.#namespace, group, this.#namespace, group, this.#namespace, group] as const;
    const { nowMs } = transaction;
    const passed = transaction.all(passedInGroup, ...key, sinceMs, nowMs);
    this.#notePoint(transaction.get(nextInGroup, ...key, nowMs)?.at_ms);
    return new Set([
      ...[...woken].filter((name) => groupOf(name) === group),
      ...passed.map(({ name }) => String(name)),
    ]);
  }

  /** Called once for each time that a name may be had: known to the waiter by its enrollment, or by an earlier call. */
  #callsFor(
    { holder, called, known }: Waiter,
    ledger: SqliteLedger,
    transaction: SqliteTransaction,
    woken: ReadonlySet<string>,
  ): News {
    const names = ledger.candidates.namesOf(holder);
    for (const name of [...known.keys()]) if (!names.includes(name)) known.delete(name);
    return names.flatMap((name) => {
      const key = [this.#namespace, name, this.#namespace, name, this.#namespace, name] as const;
      this.#notePoint(transaction.get(nextOfName, ...key, transaction.nowMs)?.at_ms);
      const position = positionOf(holder, name, ledger, transaction.nowMs);
      const mayHave = position !== undefined;
      const knows = woken.has(name) ? false : (known.get(name) ?? mayHave);
      const isCalled = mayHave && !knows && position < calledCount;
      known.set(name, mayHave && (knows || isCalled));
      return isCalled ? [() => called({ name, position })] : [];
    });
  }

  #notePoint(atMs: unknown): void {
    if (typeof atMs === 'number') this.#nextPointMs = Math.min(this.#nextPointMs, atMs);
  }
}

/** The place among those who may have the name now; `undefined` if this one may not. */
function positionOf(
  holder: Holder,
  name: string,
  ledger: SqliteLedger,
  nowMs: number,
): number | undefined {
  if (ledger.foreignText(name) !== undefined) return undefined;
  const current = describeName(ledger, name, nowMs);
  if (current !== undefined && current.state !== 'reserved') return undefined;
  const waiting = ledger.candidates
    .waitingFor(name)
    .filter(({ id }) => current === undefined || current.to === id);
  const position = waiting.findIndex((one) => one.holder.equals(holder));
  return position < 0 ? undefined : position;
}
