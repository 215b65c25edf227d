import { errorKindOf } from '../../errors/error-kind.js';
import type { Unsubscribe } from '../../events/index.js';
import type { EndReason, Lease, Leases } from '../../leases/index.js';
import { elapsedMs, type Instant, realRuntime, wallStepMs } from '../../time/index.js';
import type { ElectionEvents } from '../events.js';
import type { LossEvidence, NoteKind } from './evidence.js';
import { RefusalCounter } from './refusal-counter.js';
import { agoMs, RenewalLog } from './renewal-log.js';
import { noCounters, systemCounters } from './thread-counters.js';
import { Vitals } from './vitals.js';
import { EvidenceWriter } from './writer.js';

/** What is not a loss is noted once in so long, for each name and kind. */
const noteEveryMs = 60_000;
/** A step of the wall clock that is noted though no lease was lost by it. */
const notedStepMs = 1_000;

/** The part of an election that is followed; a user sees less of it. */
interface Followed {
  readonly name: string;
  overhear<Name extends keyof ElectionEvents>(
    name: Name,
    listener: (event: ElectionEvents[Name]) => void,
  ): Unsubscribe;
  onAdmitted(listener: () => void): Unsubscribe;
}

interface Led {
  readonly acquiredAt: Instant;
  connectionLostAt: Instant[];
  stateBefore: 'held' | 'uncertain';
}

/**
 * Remembers what this process sees while it leads, and keeps it in the store when a term is lost.
 *
 * While nothing is led it does nothing. While something is, it looks at the event loop and at two small files of the
 * system ten times a second; a loss costs two requests, in the background.
 */
export class EvidenceRecorder {
  readonly #leases: Leases;
  readonly #renewals = new RenewalLog();
  readonly #vitals: Vitals;
  readonly #writer: EvidenceWriter;
  readonly #refused: RefusalCounter;
  readonly #led = new Map<Lease, Led>();
  readonly #notedAt = new Map<string, Instant>();
  /** What the store does not keep and was told of, by name and cause: as few as there are elections, and causes of each. */
  readonly #unkept = new Set<string>();
  /** The last that was asked of the store failed. */
  #hasFailed = false;
  readonly #ends: (() => void)[];

  /**
   * @param isOurs whether a name is one of an election that this is for.
   * @param onRefused told that evidence of a name is not kept, once for each cause.
   */
  constructor(
    leases: Leases,
    isOurs: (name: string) => boolean,
    onRefused: (name: string, error: unknown) => void,
  ) {
    const { runtime, coordinator, timing, events } = leases;
    this.#leases = leases;
    const isReal = runtime === realRuntime;
    this.#vitals = new Vitals(runtime, isReal ? systemCounters : noCounters);
    const timeoutMs = Math.max(1_000, timing.attemptTimeoutMs);
    this.#writer = new EvidenceWriter({
      runtime,
      coordinator,
      timeoutMs,
      onRefused: (name, error) => this.#notKept(name, error, onRefused),
    });
    this.#refused = new RefusalCounter(runtime, (counted) => this.#writer.add(counted));
    this.#ends = [
      events.on('acquired', ({ lease }) => {
        this.#answered();
        if (isOurs(lease.name)) this.#begin(lease);
      }),
      events.on('renewal', ({ roundTripMs, error }) => {
        this.#renewals.add(runtime.now(), roundTripMs, error);
        if (error === undefined) this.#answered();
        else this.#hasFailed = true;
      }),
      events.on('uncertain', ({ lease, cause }) => this.#doubt(lease, cause)),
      events.on('recovered', ({ lease }) => this.#recovered(lease)),
      events.on('lost', ({ lease, reason }) => this.#lost(lease, reason)),
      events.on('released', ({ lease }) => this.#end(lease)),
      events.on('refused', ({ lease, resource }) => {
        if (isOurs(lease.name)) this.#refused.add(lease, resource);
      }),
    ];
  }

  /** Notes what an election tells that says something about why its terms end. */
  follow(election: Followed): void {
    const note = (noted: Noted) => this.#note(election.name, noted);
    this.#ends.push(
      election.overhear('duplicate', () => note({ what: 'duplicate-id' })),
      election.overhear('workFailed', ({ term, error }) =>
        note({ what: 'work-failed', term, detail: nameOf(error) }),
      ),
      election.overhear('workReturned', ({ term }) => note({ what: 'work-returned', term })),
      election.overhear('workOverdue', ({ term }) => note({ what: 'work-overdue', term })),
      election.overhear('campaignFailed', ({ error }) => {
        this.#hasFailed = true;
        note({ what: 'store-failed', detail: errorKindOf(error) });
      }),
      election.onAdmitted(() => this.#answered()),
    );
  }

  /** Waits for what is being written, for a request's time; no longer. */
  async close(): Promise<void> {
    for (const end of this.#ends) end();
    this.#vitals.stop();
    this.#refused.flush();
    await this.#writer.close();
  }

  #notKept(name: string, error: unknown, tell: (name: string, error: unknown) => void): void {
    const key = JSON.stringify([name, nameOf(error)]);
    if (this.#unkept.has(key)) return;
    this.#unkept.add(key);
    tell(name, error);
  }

  /** What waits to be kept is tried when the store answers again, not with each of its answers. */
  #answered(): void {
    if (this.#hasFailed) this.#writer.reached();
    this.#hasFailed = false;
  }

  #begin(lease: Lease): void {
    this.#led.set(lease, { acquiredAt: lease.anchor, connectionLostAt: [], stateBefore: 'held' });
    this.#vitals.start();
  }

  #end(lease: Lease): void {
    this.#led.delete(lease);
    if (this.#led.size === 0) this.#vitals.stop();
  }

  #doubt(lease: Lease, cause: string): void {
    const led = this.#led.get(lease);
    if (led === undefined) return;
    led.stateBefore = 'uncertain';
    if (cause === 'connection-lost') led.connectionLostAt.push(this.#leases.runtime.now());
    if (cause === 'clock-stepped') this.#noteStep(lease);
  }

  #recovered(lease: Lease): void {
    const led = this.#led.get(lease);
    if (led !== undefined)
      this.#led.set(lease, { ...led, connectionLostAt: [], stateBefore: 'held' });
  }

  #lost(lease: Lease, reason: EndReason): void {
    const led = this.#led.get(lease);
    if (led === undefined) return;
    this.#writer.add(this.#lossOf(lease, led, reason));
    this.#end(lease);
  }

  #lossOf(lease: Lease, led: Led, reason: EndReason): LossEvidence {
    const { runtime, coordinator } = this.#leases;
    const now = runtime.now();
    const { anchor, timing, installedTerm } = lease;
    const errors = this.#renewals.failuresSince(anchor);
    return {
      kind: 'loss',
      name: lease.name,
      term: lease.term,
      holderId: lease.holder.id,
      atMs: Math.round(now.wallMs),
      reason,
      stateBefore: led.stateBefore,
      store: coordinator.promises.store,
      ...timing,
      heldMs: agoMs(led.acquiredAt, now),
      sinceRenewedMs: agoMs(anchor, now),
      missedCount: Object.values(errors).reduce((sum, count) => sum + count, 0),
      renewals: this.#renewals.seen(),
      errors,
      connectionLostCount: led.connectionLostAt.length,
      machine: this.#vitals.seenSince(anchor),
      ...(installedTerm !== undefined && { installedTerm }),
    };
  }

  #noteStep(lease: Lease): void {
    const stepMs = wallStepMs(lease.anchor, this.#leases.runtime.now());
    if (Math.abs(stepMs) < notedStepMs) return;
    const detail = `${stepMs > 0 ? '+' : ''}${Math.round(stepMs)} ms`;
    this.#note(lease.name, { what: 'clock-stepped', term: lease.term, detail });
  }

  #note(name: string, noted: Noted): void {
    const { runtime, holder } = this.#leases;
    const now = runtime.now();
    // Of a term that ended by its work each end is told, since the history does not say so.
    const key = JSON.stringify([name, noted.what, noted.term]);
    const last = this.#notedAt.get(key);
    if (last !== undefined && elapsedMs(last, now) < noteEveryMs) return;
    this.#notedAt.set(key, now);
    if (this.#notedAt.size > mostNotes) this.#notedAt.delete([...this.#notedAt.keys()][0] ?? '');
    const atMs = Math.round(now.wallMs);
    this.#writer.add({ kind: 'note', name, holderId: holder.id, atMs, ...noted });
  }
}

interface Noted {
  readonly what: NoteKind;
  readonly term?: number;
  readonly detail?: string;
}

/** So many notes are remembered as written. */
const mostNotes = 200;

/** Its name and code; its message may quote what it was about. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return `${error.name}${code}`.slice(0, 100);
}
