import type { LeaseRecord } from '../coordinators/index.js';
import { elapsedMs, type Instant, type Runtime } from '../time/index.js';

/** A renewal may have been on its way when the record was read; this much later it would have shown. */
const expirySlackMs = 500;
/** A suspension is waited for in spells of this. */
const suspensionSpellMs = 60_000;

/**
 * Who stands under our id when we come: a former incarnation of this process, or another process that lives.
 *
 * Both look alike, and so does one renewal more: a store may execute the last one of a crashed process late, when its
 * next incarnation has come already. So what counts is when the last renewal was executed. Up to one ttl after we came it may be
 * a late one, and the record is waited for; after that somebody is alive.
 */
export class Incumbent {
  readonly #runtime: Runtime;
  #cameAt: Instant | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * How long to wait for the name, in milliseconds, given what stands there now; `undefined` if somebody alive has it.
   * Nobody who is not alive is waited for longer than until his record ends.
   */
  patienceMs(record: LeaseRecord | undefined): number | undefined {
    const now = this.#runtime.now();
    this.#cameAt ??= now;
    if (record === undefined) return 0;
    // An operator's suspension is over when it is over: nobody has the id meanwhile.
    if (record.state === 'suspended') return suspensionSpellMs;
    const { remainingMs } = record;
    if (record.state === 'held') {
      const { ttlMs } = record;
      const renewedAfterMs = elapsedMs(this.#cameAt, now) - (ttlMs - remainingMs);
      if (renewedAfterMs > ttlMs) return undefined;
    }
    return remainingMs + expirySlackMs;
  }
}
