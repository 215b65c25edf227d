import type { LeaseRecord } from '../../coordinators/index.js';
import { isTransient } from '../../errors/index.js';
import { Backoff } from '../../time/index.js';
import { Bell } from '../bell.js';
import { sayRecord } from '../display/record.js';
import type { Session } from '../session.js';
import { groupsOf, lookAt, type Sight } from './target.js';

/** Something that changed, or that nobody can tell any more. */
export type Change =
  | { readonly kind: 'record'; readonly name: string; readonly record: LeaseRecord | undefined }
  /** The store did not answer: what was told last may not hold any more. */
  | { readonly kind: 'unsure'; readonly error: Error }
  /** It answers again; all that stands there follows. */
  | { readonly kind: 'sure' };

/** A wake is only a hint, and some stores wake nobody when a lease expires; so it is looked at least this often. */
const lookEveryMs = 1_000;
const afterFailure = { firstMs: 250, limitMs: 5_000 };

/**
 * Tells everything that stands there, then each change, until the signal aborts. What came and went between two looks is
 * not seen: the history has it.
 *
 * @throws the store's errors, if they are not transient; and all of the first look.
 */
export async function watchChanges(
  session: Session,
  target: string | undefined,
  tell: (change: Change) => void,
): Promise<void> {
  const { coordinator, runtime, signal } = session;
  const bell = new Bell(runtime);
  const stopWatching = groupsOf(target).map((group) => coordinator.watch(group, bell.ring));
  try {
    const looks = new Looks(session, target, tell);
    while (!signal.aborted) {
      const pauseMs = await looks.next();
      await bell.wait(pauseMs, signal);
    }
  } finally {
    for (const stop of stopWatching) stop();
  }
}

class Looks {
  readonly #session: Session;
  readonly #target: string | undefined;
  readonly #tell: (change: Change) => void;
  readonly #backoff: Backoff;
  /** `undefined` before the first look. */
  #last: Sight | undefined;
  #isSure = true;

  constructor(session: Session, target: string | undefined, tell: (change: Change) => void) {
    this.#session = session;
    this.#target = target;
    this.#tell = tell;
    this.#backoff = new Backoff(session.runtime, afterFailure);
  }

  /** Looks once, tells what is new, and answers how long to pause. */
  async next(): Promise<number> {
    let sight: Sight;
    try {
      sight = await lookAt(this.#session, this.#target);
    } catch (error) {
      return this.#failed(error);
    }
    if (!this.#session.signal.aborted) this.#compare(sight);
    this.#backoff.reset();
    return Math.min(lookEveryMs, untilNextEnd(sight));
  }

  #failed(error: unknown): number {
    if (this.#last === undefined || !isTransient(error)) throw error;
    if (this.#isSure) this.#tell({ kind: 'unsure', error });
    this.#isSure = false;
    return this.#backoff.nextMs();
  }

  #compare(sight: Sight): void {
    if (!this.#isSure) this.#tell({ kind: 'sure' });
    // Whoever reads along cannot tell what an unsure line left standing, so everything is told again.
    const known: Sight = this.#isSure ? (this.#last ?? new Map()) : new Map();
    this.#isSure = true;
    for (const [name, record] of sight) {
      const isNew = !known.has(name);
      if (isNew || sayRecord(known.get(name)) !== sayRecord(record))
        this.#tell({ kind: 'record', name, record });
    }
    for (const [name, record] of this.#last ?? []) {
      if (record !== undefined && !sight.has(name))
        this.#tell({ kind: 'record', name, record: undefined });
    }
    this.#last = sight;
  }
}

/** Until the first record ends unless it is renewed, and a little more. */
function untilNextEnd(sight: Sight): number {
  const ends = [...sight.values()].map((record) =>
    record === undefined || record.state === 'suspended' ? lookEveryMs : record.remainingMs,
  );
  return Math.min(...ends, lookEveryMs) + 5;
}
