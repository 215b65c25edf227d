import {
  calledCount,
  type EnrollRequest,
  type EnrollResult,
  type Holder,
  type LeaseRecord,
  type Standing,
} from '../coordinators/index.js';
import { Enrollment, type EnrollmentHost, type EnrollOptions } from './enrollment.js';
import type { ResolvedTiming } from './options.js';

/** What whoever waits hears from the queue. The *rank* counts who waits before it in this process, 0 for the first. */
export interface QueueListener {
  /** The name may be free, and this place in the queue was called. */
  called(place: number): void;
  /** What a refresh found under the name, unless a call came since it was sent. */
  heard(current: LeaseRecord | undefined, position: number | undefined, rank: number): void;
  /** A refresh failed; it is tried again in `retryInMs`. */
  failed(error: unknown, retryInMs: number): void;
}

/** Somebody in this process whose entry it is. */
interface Member {
  readonly enrollment: Enrollment;
  readonly timing: ResolvedTiming;
  readonly listener: QueueListener | undefined;
}

export interface RosterEntryOptions {
  readonly name: string;
  readonly holder: Holder;
  /** Somebody came, left or asks for something else; resolves when the store has heard it, or could not be reached. */
  readonly onChange: () => Promise<void>;
  /** Somebody wants to know how things are, in `afterMs` at the latest. */
  readonly onHurry: (afterMs: number) => void;
}

/** The one entry of this process among the candidates of a name: who here wants it, and what they hear. */
export class RosterEntry implements EnrollmentHost {
  readonly #options: RosterEntryOptions;
  #members: readonly Member[] = [];
  #position: number | undefined;
  #current: LeaseRecord | undefined;
  #callCount = 0;

  constructor(options: RosterEntryOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get holder(): Holder {
    return this.#options.holder;
  }

  get position(): number | undefined {
    return this.#position;
  }

  get current(): LeaseRecord | undefined {
    return this.#current;
  }

  /** Nobody wants it any more. */
  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  /** How many calls have come. */
  get callCount(): number {
    return this.#callCount;
  }

  /** That of whoever refreshes most often; `undefined` if nobody wants the entry. */
  get timing(): ResolvedTiming | undefined {
    const timings = this.#members.map(({ timing }) => timing);
    return timings.sort((one, other) => one.renewEveryMs - other.renewEveryMs)[0];
  }

  /** What the store is to hear, for as long as somebody wants the entry. */
  request(ttlMs: number): EnrollRequest {
    const asked = this.#members.map(({ enrollment }) => enrollment.options);
    const { name, holder } = this.#options;
    return { name, holder, ttlMs, ...mergeEnrollments(asked) };
  }

  join(
    options: EnrollOptions,
    timing: ResolvedTiming,
    listener: QueueListener | undefined,
  ): Enrollment {
    const enrollment = new Enrollment(this, options);
    this.#members = [...this.#members, { enrollment, timing, listener }];
    void this.#options.onChange();
    return enrollment;
  }

  leave(enrollment: Enrollment): Promise<void> {
    // Disbanded meanwhile: the store has heard of it.
    if (!this.#members.some((member) => member.enrollment === enrollment)) return Promise.resolve();
    this.#members = this.#members.filter((member) => member.enrollment !== enrollment);
    return this.#options.onChange();
  }

  disband(): Promise<void> {
    this.#members = [];
    return this.#options.onChange();
  }

  /** What a member asks for has changed. */
  update(): void {
    void this.#options.onChange();
  }

  hurry(afterMs: number): void {
    this.#options.onHurry(afterMs);
  }

  /** `callCount` as it was when the request was sent: what a later call says is newer than its answer. */
  heard({ position, current }: EnrollResult, callCount: number): void {
    this.#position = position;
    this.#current = current;
    if (callCount !== this.#callCount && current !== undefined) return;
    for (const [rank, listener] of this.#listeners.entries())
      listener.heard(current, position, rank);
  }

  called(position: number): void {
    this.#callCount += 1;
    for (const [rank, listener] of this.#listeners.entries())
      if (position + rank < calledCount) listener.called(position + rank);
  }

  failed(error: unknown, retryInMs: number): void {
    for (const listener of this.#listeners) listener.failed(error, retryInMs);
  }

  get #listeners(): QueueListener[] {
    return this.#members.flatMap(({ listener }) => listener ?? []);
  }
}

/** One entry speaks for all: it waits if one of them does, and prefers as the one that prefers most. */
function mergeEnrollments(
  asked: readonly EnrollOptions[],
): Pick<EnrollRequest, 'standing' | 'preference' | 'metadata'> {
  const standing = standings.find((one) => asked.some((options) => options.standing === one));
  const preference = Math.max(...asked.map((options) => options.preference ?? 0));
  const metadata = asked.find((options) => options.metadata !== undefined)?.metadata;
  return {
    standing: standing ?? 'observing',
    preference,
    ...(metadata !== undefined && { metadata }),
  };
}

/** The one that counts for all comes first. */
const standings: readonly Standing[] = ['waiting', 'present', 'observing'];
