import { isTransient } from '../../errors/index.js';
import { Backoff, elapsedMs, type Instant, type Timer } from '../../time/index.js';
import { Bell } from '../bell.js';
import { endOf, type Sighted, sayRecord } from '../display/record.js';
import type { Session } from '../session.js';
import { groupsOf, lookAt, type Sight } from './target.js';

/** Something that changed, or that nobody can tell any more. */
export type Change =
  | { readonly kind: 'record'; readonly name: string; readonly record: Sighted | undefined }
  /** The first look found nothing at all. */
  | { readonly kind: 'nothing' }
  /** The store did not answer, or not in time: what was told last may not hold any more. */
  | { readonly kind: 'unsure'; readonly why: string }
  /** It answers again; all that stands there follows. */
  | { readonly kind: 'sure' };

/** A wake is only a hint, and some stores wake nobody when a lease expires; so it is looked at least this often. */
const lookEveryMs = 1_000;
/** The look that is due when something ends has so long for its answer; then what was told of it is told no longer. */
export const answerWithinMs = 500;
export const unansweredSinceExpiry = 'the store has not answered since what it told last ran out';
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
  const looks = new Looks(session, target, tell);
  try {
    while (!signal.aborted) {
      const pauseMs = await looks.next();
      await bell.wait(pauseMs, signal);
    }
  } finally {
    looks.stop();
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
  /** Fires when what was told has run out, and no answer has come since. */
  #expiry: Timer | undefined;

  constructor(session: Session, target: string | undefined, tell: (change: Change) => void) {
    this.#session = session;
    this.#target = target;
    this.#tell = tell;
    this.#backoff = new Backoff(session.runtime, afterFailure);
  }

  /** Looks once, tells what is new, and answers how long to pause. */
  async next(): Promise<number> {
    const { runtime, signal } = this.#session;
    const askedAt = runtime.now();
    let sight: Sight;
    try {
      sight = await lookAt(this.#session, this.#target);
    } catch (error) {
      return this.#failed(error);
    }
    if (signal.aborted) return 0;
    this.#compare(sight);
    this.#backoff.reset();
    const endsMs = untilNextEnd(sight);
    this.#expireAfter(endsMs, askedAt);
    return Math.min(lookEveryMs, endsMs + 5);
  }

  stop(): void {
    this.#expiry?.cancel();
  }

  /** What the store said is good from when it was asked on, and no longer than it said. */
  #expireAfter(endsMs: number, askedAt: Instant): void {
    const { runtime } = this.#session;
    this.#expiry?.cancel();
    if (endsMs === Number.POSITIVE_INFINITY) return;
    const leftMs = Math.max(0, endsMs - elapsedMs(askedAt, runtime.now()));
    this.#expiry = runtime.setTimer(leftMs + answerWithinMs, () =>
      this.#doubt(unansweredSinceExpiry),
    );
  }

  #failed(error: unknown): number {
    if (this.#last === undefined || !isTransient(error)) throw error;
    this.#doubt(error.message);
    return this.#backoff.nextMs();
  }

  #doubt(why: string): void {
    if (this.#isSure) this.#tell({ kind: 'unsure', why });
    this.#isSure = false;
  }

  #compare(sight: Sight): void {
    if (!this.#isSure) this.#tell({ kind: 'sure' });
    if (this.#last === undefined && sight.size === 0) this.#tell({ kind: 'nothing' });
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

/** Until the first of what was seen ends unless it is renewed; infinite if nothing does. */
function untilNextEnd(sight: Sight): number {
  return Math.min(...[...sight.values()].map(endOf), Number.POSITIVE_INFINITY);
}
