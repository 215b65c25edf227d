import type {
  AcquireRequest,
  AcquireResult,
  Act,
  Call,
  CallOptions,
  Candidate,
  Coordinator,
  CoordinatorPromises,
  EndResult,
  EnrollRequest,
  EnrollResult,
  HandoffRequest,
  HistoryEntry,
  LeaseRecord,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
  RevokeRequest,
  StoredDocument,
  WithdrawRequest,
  WriteDocumentResult,
} from '../coordinators/index.js';
import { checkTimeout, Holder } from '../coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../coordinators/memory/index.js';
import { type DisturbOptions, FaultLink, MemoryCaller } from '../drivers/memory/index.js';
import { requireKnown } from '../errors/checks.js';
import { StoreRefusedError } from '../errors/index.js';
import type { Unsubscribe } from '../events/index.js';
import type { FencingToken } from '../fences/index.js';
import { requireCoordinator } from '../leases/require-coordinator.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { Grants } from './grants.js';
import { Passage } from './passage.js';

/** Which calls a fault befalls, and how many. Default: the next one, whichever it is. */
export type FaultOptions = DisturbOptions;

export interface FaultyCoordinatorOptions {
  /** The clocks and timers of the process that uses it; they bound its calls. Default: the real ones. */
  readonly runtime?: Runtime;
  /** @internal Shared by the processes of one test, so that each can end what another has acquired. */
  readonly grants?: Grants;
  /** @internal Where the calls leave, and answers arrive. */
  readonly passage?: Passage;
}

/** Time enough for a store that is not disturbed. */
const actTimeoutMs = 5_000;

/**
 * Any coordinator, with a bad network in front of it and an operator's hand on its leases. Without a fault it behaves as the
 * coordinator itself does.
 *
 * Every call still settles within its `timeoutMs`: what is not answered rejects with `OutcomeUnknownError`, what could not
 * be sent with `UnreachableError`. A thread cannot renew through it (`renewFrom: 'thread'` is refused).
 */
export class FaultyCoordinator implements Coordinator {
  readonly promises: CoordinatorPromises;
  readonly #store: Coordinator;
  readonly #runtime: Runtime;
  readonly #grants: Grants;
  readonly #passage: Passage;
  readonly #link = new FaultLink();
  readonly #caller: MemoryCaller;
  readonly #executing = new Set<Promise<unknown>>();

  /** @param store owned: closed with this one. Default: one in memory, of which nobody else knows. */
  constructor(store?: Coordinator, options: FaultyCoordinatorOptions = {}) {
    requireKnown('options', options, { runtime: true, grants: true, passage: true });
    this.#runtime = requireRuntime(options.runtime);
    this.#store = store ?? memoryCoordinator(new MemoryStore({ runtime: this.#runtime }));
    requireCoordinator(this.#store);
    this.promises = this.#store.promises;
    this.#grants = options.grants ?? new Grants();
    this.#passage = options.passage ?? new Passage();
    this.#caller = new MemoryCaller({
      what: `${this.promises.store} store`,
      runtime: this.#runtime,
      link: this.#passage.around(this.#link),
      // The store judges for itself what comes too late, by the time at which it is asked.
      nowMs: () => 0,
    });
  }

  /** From now on nothing crosses in either direction, and nobody is told, until {@link heal}. */
  hang(): void {
    this.#link.hang();
  }

  /** From now on calls are refused at once, and not executed, until {@link heal}. */
  cut(): void {
    this.#link.cut();
  }

  /** The next call is executed, and its answer never arrives. */
  loseReply(options: FaultOptions = {}): void {
    this.#link.disturb('reply', 'drop', { count: 1, ...options });
  }

  /**
   * The next call is on its way until {@link flush}, also when its caller has given it up; then the store executes it, as if
   * it had been sent in that moment. Stores that look at a request's deadline refuse it; a fence is for those that cannot.
   */
  flushLater(options: FaultOptions = {}): void {
    this.#link.disturb('request', 'hold', { count: 1, ...options });
  }

  /** The next call is executed twice. */
  duplicate(options: FaultOptions = {}): void {
    this.#link.disturb('request', 'duplicate', { count: 1, ...options });
  }

  /** Every fault ends. What {@link flushLater} has kept is still kept. */
  heal(): void {
    this.#link.heal();
  }

  /** Sends what {@link flushLater} has kept, and resolves with the number of calls when the store has executed them. */
  async flush(): Promise<number> {
    const count = this.#link.flush();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await Promise.allSettled(this.#executing);
    return count;
  }

  /**
   * The lease expires in the store at once: whoever waits may have the name, and its holder goes on believing until its next
   * renewal, or its deadline. No lock-delay follows; for that, let its ttl pass.
   *
   * @returns `false` if no lease stands that was acquired through this coordinator, or through one of the same test.
   */
  expire(name: string): Promise<boolean> {
    return this.#grants.expire(this.#store, name, actTimeoutMs);
  }

  /**
   * Somebody else takes the name, whoever holds or waits for it: the thief's lease lasts for `ttlMs` (default: a minute) and
   * is not renewed. What is returned can be shown to a fence, as the thief would.
   *
   * @throws {StoreRefusedError} if it is not to be had: it is suspended, or held by somebody who did not acquire it through
   * this coordinator, or one of the same test.
   */
  async steal(name: string, ttlMs = 60_000): Promise<FencingToken> {
    const holder = Holder.create('thief', this.#runtime);
    const attempt = this.#runtime.randomHex(16);
    await this.#grants.reserve(this.#store, name, holder.id, actTimeoutMs);
    const call = { timeoutMs: actTimeoutMs };
    const [result] = await this.#store.acquire([{ name, holder, attempt, ttlMs }], call);
    if (result?.outcome !== 'granted')
      throw new StoreRefusedError(
        'NOT_STOLEN',
        `"${name}" could not be stolen: it is ${result?.outcome}. Let its holder acquire it through a FaultyCoordinator of this test, and resume it if it is suspended.`,
      );
    const grant = { name, holder, term: result.term };
    this.#grants.note(grant);
    return grant;
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const asked = copyOf(requests);
    return this.#call('acquire', call, async (bound) => {
      const results = await this.#store.acquire(asked, bound);
      for (const [index, { name, holder }] of asked.entries()) {
        const result = results[index];
        if (result?.outcome === 'granted') this.#grants.note({ name, holder, term: result.term });
      }
      return results;
    });
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const asked = copyOf(requests);
    return this.#call('renew', call, (bound) => this.#store.renew(asked, bound));
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    const asked = copyOf(requests);
    return this.#call('release', call, (bound) => this.#store.release(asked, bound));
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    const asked = copyOf(requests);
    return this.#call('handoff', call, (bound) => this.#store.handoff(asked, bound));
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const asked = copyOf(names);
    return this.#call('read', call, (bound) => this.#store.read(asked, bound));
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    return this.#call('list', call, (bound) => this.#store.list(group, bound));
  }

  watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    return this.#caller.listen<string | undefined>((told) => this.#store.watch(group, told), wake);
  }

  onConnectionLost(lost: () => void): Unsubscribe {
    return this.#caller.attach(() => this.#store.onConnectionLost(() => this.#passage.pass(lost)));
  }

  async enroll(requests: readonly EnrollRequest[], call: CallOptions): Promise<EnrollResult[]> {
    const asked = copyOf(requests);
    return this.#call('enroll', call, (bound) => this.#store.enroll(asked, bound));
  }

  async withdraw(requests: readonly WithdrawRequest[], call: CallOptions): Promise<void> {
    const asked = copyOf(requests);
    return this.#call('withdraw', call, (bound) => this.#store.withdraw(asked, bound));
  }

  async candidates(name: string, call: CallOptions): Promise<Candidate[]> {
    return this.#call('candidates', call, (bound) => this.#store.candidates(name, bound));
  }

  onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#caller.listen<Call>((told) => this.#store.onCalled(holder, told), called);
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined> {
    const asked = copyOf(request);
    return this.#call('revoke', call, (bound) => this.#store.revoke(name, asked, bound));
  }

  async suspend(name: string, act: Act, call: CallOptions): Promise<LeaseRecord> {
    const asked = copyOf(act);
    return this.#call('suspend', call, (bound) => this.#store.suspend(name, asked, bound));
  }

  async resume(name: string, act: Act, call: CallOptions): Promise<boolean> {
    const asked = copyOf(act);
    return this.#call('resume', call, (bound) => this.#store.resume(name, asked, bound));
  }

  async history(name: string, call: CallOptions): Promise<HistoryEntry[]> {
    return this.#call('history', call, (bound) => this.#store.history(name, bound));
  }

  async readDocument(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    return this.#call('readDocument', call, (bound) => this.#store.readDocument(name, bound));
  }

  async writeDocument(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    return this.#call('writeDocument', call, (bound) =>
      this.#store.writeDocument(name, text, expectedVersion, bound),
    );
  }

  async close(): Promise<void> {
    this.#caller.close();
    await this.#store.close();
  }

  async #call<Answer>(
    operation: string,
    call: CallOptions,
    send: (bound: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const timeoutMs = checkTimeout(call);
    let isGivenUp = false;
    const execute = () => {
      // Nobody waits any more, so the store may take its time.
      const answer = send({ timeoutMs: isGivenUp ? Math.max(timeoutMs, actTimeoutMs) : timeoutMs });
      const forget = () => void this.#executing.delete(noted);
      const noted: Promise<void> = answer.then(forget, forget);
      this.#executing.add(noted);
      return answer;
    };
    try {
      return await this.#caller.call(operation, timeoutMs, execute);
    } finally {
      isGivenUp = true;
    }
  }
}

/** What is sent is what was asked for at the time; whether that makes sense, the store says. */
function copyOf<Asked>(asked: Asked): Asked {
  if (Array.isArray(asked)) return asked.map(copyOf) as Asked;
  const isRecord = typeof asked === 'object' && asked !== null;
  return isRecord && !(asked instanceof Holder) ? { ...asked } : asked;
}
