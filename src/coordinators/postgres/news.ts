import type { Answer } from '../../drivers/postgres/index.js';
import { type Call, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { groupOf } from '../names.js';

export interface Watch {
  readonly group: string;
  readonly wake: (name: string | undefined) => void;
}

export interface Waiter {
  readonly holder: Holder;
  readonly called: (call: Call) => void;
}

/** What the function `news` answers. */
export interface NewsAnswer extends Answer {
  readonly names: readonly (readonly [name: string, mark: string, endsInMs: number | null])[];
  readonly waits: readonly (readonly [
    digest: string,
    name: string,
    callCount: number,
    calledPosition: number | null,
    position: number | null,
    endsInMs: number | null,
  ])[];
}

/** Compares what was seen at one look with what is seen at the next, and tells who listens what that means for them. */
export class NewsReader {
  readonly watches = new Set<Watch>();
  readonly waiters = new Set<Waiter>();
  /** What stood under each name of a group at the last look; a group that was not looked at yet is not here. */
  readonly #groups = new Map<string, Map<string, string>>();
  /** By digest and name, what was seen at the last look; a digest that was not looked for yet is not here. */
  readonly #waits = new Map<string, Map<string, Wait>>();

  get isIdle(): boolean {
    return this.watches.size === 0 && this.waiters.size === 0;
  }

  get groups(): string[] {
    return [...new Set([...this.watches].map(({ group }) => group))];
  }

  get digests(): string[] {
    return [...new Set([...this.waiters].map(({ holder }) => holder.digest))];
  }

  /** Nothing that was seen counts any more: anything may have happened. */
  forget(): void {
    this.#groups.clear();
    this.#waits.clear();
  }

  /**
   * The caller was shown that something stands under a name. If nobody knew of it, and it is gone at the next look, that is
   * a change for whoever watches.
   */
  note(name: string): void {
    const known = this.#groups.get(groupOf(name));
    if (known?.has(name) === false) known.set(name, shown);
  }

  /** A notification came: that a name changed, and who is called. */
  hear(name: string, called: readonly string[]): void {
    this.#wake(groupOf(name), name);
    for (const [position, digest] of called.entries()) {
      const wait = this.#waits.get(digest)?.get(name);
      if (wait !== undefined) wait.callCount += 1;
      this.#call(digest, { name, position });
    }
  }

  /** Anything may have happened. */
  tellAll(): void {
    for (const watch of [...this.watches]) this.#wakeOne(watch, undefined);
    for (const waiter of [...this.waiters]) this.#callOne(waiter, anything);
  }

  /** @returns in how many milliseconds something that was seen ends by itself. */
  read(answer: NewsAnswer, groups: readonly string[], digests: readonly string[]): number {
    this.#readGroups(answer, groups);
    this.#readWaits(answer, digests);
    const ends = [...answer.names.map((one) => one[2]), ...answer.waits.map((one) => one[5])];
    return Math.min(...ends.map((endsInMs) => endsInMs ?? Number.POSITIVE_INFINITY));
  }

  #readGroups({ names }: NewsAnswer, groups: readonly string[]): void {
    const seen = new Map(groups.map((group) => [group, new Map<string, string>()]));
    for (const [name, mark] of names) seen.get(groupOf(name))?.set(name, mark);
    for (const [group, now] of seen) {
      const before = this.#groups.get(group);
      this.#groups.set(group, now);
      if (before === undefined) this.#wake(group, undefined);
      else for (const name of changes(before, now)) this.#wake(group, name);
    }
  }

  #readWaits({ waits }: NewsAnswer, digests: readonly string[]): void {
    for (const digest of digests) {
      const before = this.#waits.get(digest);
      const own = waits.filter((one) => one[0] === digest);
      const now = own.map(([, name, callCount, , position]): [string, Wait] => [
        name,
        { callCount, mayHave: position !== null },
      ]);
      this.#waits.set(digest, new Map(now));
      if (before === undefined) this.#call(digest, anything);
      for (const wait of own) {
        const position = positionOfCall(before?.get(wait[1]), wait);
        if (position !== undefined) this.#call(digest, { name: wait[1], position });
      }
    }
  }

  #wake(group: string, name: string | undefined): void {
    for (const watch of [...this.watches]) if (watch.group === group) this.#wakeOne(watch, name);
  }

  #call(digest: string, call: Call): void {
    for (const waiter of [...this.waiters])
      if (waiter.holder.digest === digest) this.#callOne(waiter, call);
  }

  // Whoever was told before may have taken back what is to be told next.

  #wakeOne(watch: Watch, name: string | undefined): void {
    if (this.watches.has(watch)) watch.wake(name);
  }

  #callOne(waiter: Waiter, call: Call): void {
    if (this.waiters.has(waiter)) waiter.called(call);
  }
}

/** After a reconnect, and at the first look. */
const anything: Call = { name: undefined, position: 0 };

/** What is known of a name that somebody waits for. */
interface Wait {
  callCount: number;
  readonly mayHave: boolean;
}

/** Whether a look finds a call: it was called since, or may have the name now and could not before. */
function positionOfCall(
  before: Wait | undefined,
  [, , callCount, calledPosition, position]: NewsAnswer['waits'][number],
): number | undefined {
  // Of an entry that is seen for the first time its enrollment has told what stood there; not that it was called since.
  const { callCount: knownCount, mayHave } = before ?? { callCount: 0, mayHave: true };
  if (callCount > knownCount && calledPosition !== null) return calledPosition;
  const isNew = position !== null && !mayHave;
  return isNew && position < calledCount ? position : undefined;
}

/** Stands for something that somebody was shown, and no look has seen. */
const shown = '';

/** Names under which something else stands now, or nothing any more. */
function changes(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const changed = [...now].filter(
    ([name, mark]) => before.get(name) !== mark && before.get(name) !== shown,
  );
  const gone = [...before.keys()].filter((name) => !now.has(name));
  return [...changed.map(([name]) => name), ...gone];
}
