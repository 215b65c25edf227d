import type {
  Call,
  CallOptions,
  Coordinator,
  EnrollResult,
  Holder,
} from '../coordinators/index.js';
import { OutcomeUnknownError } from '../errors/index.js';
import type { Unsubscribe } from '../events/index.js';
import { type Instant, type Runtime, type Timer, withDeadline } from '../time/index.js';
import { Duplicates } from './duplicates.js';
import { type Enrollment, type EnrollOptions, validateEnrollment } from './enrollment.js';
import { Errand } from './errand.js';
import type { ResolvedTiming } from './options.js';
import { type QueueListener, RosterEntry } from './roster-entry.js';

export interface RosterOptions {
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  readonly holder: Holder;
  readonly onDuplicate: (name: string) => void;
}

/** One name: what is wanted, and when the store hears of it. */
interface Line {
  readonly entry: RosterEntry;
  readonly errand: Errand;
  /** Of the last who wanted the entry. */
  timing: ResolvedTiming;
}

/** After a reconnect everybody looks; not in the same moment. */
const longestReconnectPauseMs = 100;

/**
 * All entries of one process among the candidates of any names: one for each name, refreshed together in one request.
 *
 * It hands on what the store says: who is called, and what stands under the name. Errors are tried again. What is not
 * withdrawn, because the store could not be reached, ends by itself.
 */
export class Roster {
  readonly #options: RosterOptions;
  readonly #lines = new Map<string, Line>();
  readonly #duplicates: Duplicates;
  #unlisten: Unsubscribe | undefined;
  #timer: Timer | undefined;
  #isAwake = false;

  constructor(options: RosterOptions) {
    this.#options = options;
    this.#duplicates = new Duplicates(options.runtime);
  }

  /** @throws {OptionError} for what a store would refuse. {@link ClosedError} if the coordinator is closed. */
  enroll(
    name: string,
    options: EnrollOptions,
    timing: ResolvedTiming,
    listener?: QueueListener,
  ): Enrollment {
    const { coordinator, holder } = this.#options;
    validateEnrollment(name, holder, options);
    this.#unlisten ??= coordinator.onCalled(holder, (call) => this.#called(call));
    let line = this.#lines.get(name);
    if (line === undefined) {
      line = this.#createLine(name, timing);
      this.#lines.set(name, line);
    }
    return line.entry.join(options, timing, listener);
  }

  /** Takes back everything, in one request. Never throws. */
  async close(): Promise<void> {
    const ended = [...this.#lines.values()].map(({ entry }) => entry.disband());
    // In this very turn: what is released in the next must not call anybody here.
    this.#send();
    await Promise.all(ended);
  }

  #createLine(name: string, timing: ResolvedTiming): Line {
    const { runtime, holder } = this.#options;
    const errand = new Errand(runtime);
    const onChange = () => {
      this.#wake();
      return errand.demand();
    };
    const onHurry = (afterMs: number) => {
      errand.hurry(afterMs);
      this.#wake();
    };
    return { entry: new RosterEntry({ name, holder, onChange, onHurry }), errand, timing };
  }

  #called({ name, position }: Call): void {
    if (name !== undefined) {
      this.#lines.get(name)?.entry.called(position);
      return;
    }
    const pauseMs = this.#options.runtime.random() * longestReconnectPauseMs;
    for (const { errand } of this.#lines.values()) errand.hurry(pauseMs);
    this.#wake();
  }

  /** At the end of this turn, so that what is asked for in one turn travels together. */
  #wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    queueMicrotask(() => {
      this.#isAwake = false;
      this.#send();
    });
  }

  #send(): void {
    const due = this.#due(this.#options.runtime.now());
    for (const line of due) {
      line.timing = line.entry.timing ?? line.timing;
      line.errand.begin();
    }
    const refreshed = due.filter(({ entry }) => !entry.isEmpty);
    for (const lines of byTimeout(refreshed)) void this.#refresh(lines);
    const left = due.filter(({ entry }) => entry.isEmpty);
    for (const lines of byTimeout(left)) void this.#withdraw(lines);
    this.#arm();
  }

  /** A refresh takes along what is nearly due, so that entries made at different times fall into one step. */
  #due(now: Instant): Line[] {
    const lines = [...this.#lines.values()];
    const isDue = ({ errand }: Line) => errand.dueInMs(now) <= 0;
    const refreshed = lines.filter((line) => isDue(line) && !line.errand.isDemanded);
    const timeouts = new Set(refreshed.map(({ timing }) => timing.attemptTimeoutMs));
    return lines.filter((line) => {
      const goesAlong = timeouts.has(line.timing.attemptTimeoutMs) && line.errand.isNearlyDue(now);
      return goesAlong || isDue(line);
    });
  }

  async #refresh(lines: readonly Line[]): Promise<void> {
    const callCounts = lines.map(({ entry }) => entry.callCount);
    const requests = lines.map(({ entry, timing }) => entry.request(timing.ttlMs));
    try {
      const results = await this.#bounded('an enrollment', lines, (call) =>
        this.#options.coordinator.enroll(requests, call),
      );
      for (const [index, line] of lines.entries())
        this.#heard(line, results[index], callCounts[index] ?? 0);
    } catch (error) {
      for (const line of lines) failed(line, error);
    }
    this.#wake();
  }

  #heard(line: Line, result: EnrollResult | undefined, callCount: number): void {
    const { entry, errand } = line;
    if (result === undefined) {
      failed(line, new OutcomeUnknownError(`the store did not answer for "${entry.name}"`));
      return;
    }
    errand.succeeded(entry.timing);
    if (result.duplicate && this.#duplicates.note(entry.name))
      this.#options.onDuplicate(entry.name);
    entry.heard(result, callCount);
  }

  /** Once: what could not be withdrawn ends by itself. */
  async #withdraw(lines: readonly Line[]): Promise<void> {
    const { coordinator, holder } = this.#options;
    const requests = lines.map(({ entry }) => ({ name: entry.name, holder }));
    try {
      await this.#bounded('a withdrawal', lines, (call) => coordinator.withdraw(requests, call));
    } catch {
      // Nobody is left who could be told.
    }
    for (const { entry, errand } of lines) {
      errand.succeeded(undefined);
      // Somebody may have come meanwhile.
      if (entry.isEmpty && !errand.isWanted) this.#lines.delete(entry.name);
    }
    if (this.#lines.size === 0) {
      this.#unlisten?.();
      this.#unlisten = undefined;
    }
    this.#wake();
  }

  async #bounded<T>(
    what: string,
    [line]: readonly Line[],
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const timeoutMs = line?.timing.attemptTimeoutMs ?? 1;
    return withDeadline(this.#options.runtime, timeoutMs * 2, what, call({ timeoutMs }));
  }

  #arm(): void {
    const { runtime } = this.#options;
    this.#timer?.cancel();
    this.#timer = undefined;
    const now = runtime.now();
    const dueInMs = Math.min(...[...this.#lines.values()].map(({ errand }) => errand.dueInMs(now)));
    if (dueInMs < Number.POSITIVE_INFINITY)
      this.#timer = runtime.setTimer(dueInMs, () => this.#send());
  }
}

/** A hung request about entries of long leases must not hold up that about others. */
function byTimeout(lines: readonly Line[]): Line[][] {
  const groups = new Map<number, Line[]>();
  for (const line of lines) {
    const { attemptTimeoutMs } = line.timing;
    const group = groups.get(attemptTimeoutMs);
    if (group === undefined) groups.set(attemptTimeoutMs, [line]);
    else group.push(line);
  }
  return [...groups.values()];
}

function failed({ entry, errand, timing }: Line, error: unknown): void {
  // If everybody has left meanwhile, the withdrawal is due before that.
  const retryInMs = errand.failed(timing);
  entry.failed(error, retryInMs);
}
