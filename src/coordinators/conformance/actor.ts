import assert from 'node:assert/strict';
import type { Call, Candidate, EnrollRequest, EnrollResult } from '../candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  Coordinator,
  EndResult,
  RenewRequest,
  RenewResult,
} from '../contract.js';
import type { Holder } from '../holder.js';
import type { HeldRecord, LeaseRecord } from '../record.js';
import { show } from './show.js';

/** What actors share. */
interface Stage {
  readonly ttlMs: number;
  readonly call: CallOptions;
  attempt(): string;
  holder(id: string): Holder;
}

/** A process in a case: one client and one holder. Its calls are batches of one, with the stage's ttl and timeout. */
export class Actor {
  readonly client: Coordinator;
  readonly holder: Holder;
  readonly #stage: Stage;

  constructor(stage: Stage, client: Coordinator, holder: Holder) {
    this.#stage = stage;
    this.client = client;
    this.holder = holder;
  }

  /** The same client under another holder: by default another incarnation of the same id. */
  as(holder: Holder = this.#stage.holder(this.holder.id)): Actor {
    return new Actor(this.#stage, this.client, holder);
  }

  /** A request of this actor with a new attempt, to be changed or repeated. */
  request(name: string, parts: Partial<AcquireRequest> = {}): AcquireRequest {
    const { ttlMs } = this.#stage;
    return { name, holder: this.holder, attempt: this.#stage.attempt(), ttlMs, ...parts };
  }

  async acquire(
    request: string | AcquireRequest,
    call: CallOptions = this.#stage.call,
  ): Promise<AcquireResult> {
    const whole = typeof request === 'string' ? this.request(request) : request;
    return only(await this.client.acquire([whole], call));
  }

  /** Acquires and expects the grant. @returns its term. */
  async take(request: string | AcquireRequest): Promise<number> {
    const result = await this.acquire(request);
    assert.equal(result.outcome, 'granted', `${this.holder} expects a grant: ${show(result)}`);
    return result.outcome === 'granted' ? result.term : 0;
  }

  /** Acquires and expects that somebody else is in the way. @returns what is. */
  async isKeptOut(request: string | AcquireRequest): Promise<LeaseRecord> {
    const result = await this.acquire(request);
    if (result.outcome === 'held') return result.current;
    return assert.fail(`${this.holder} expects to be kept out: ${show(result)}`);
  }

  /** Acquires and expects that somebody else holds the name. @returns the other's lease. */
  async findsHeld(request: string | AcquireRequest): Promise<HeldRecord> {
    const current = await this.isKeptOut(request);
    if (current.state === 'held') return current;
    return assert.fail(`${this.holder} expects a lease in the way: ${show(current)}`);
  }

  async renew(
    name: string,
    term: number,
    parts: Partial<RenewRequest> = {},
    call: CallOptions = this.#stage.call,
  ): Promise<RenewResult> {
    const { ttlMs } = this.#stage;
    return only(
      await this.client.renew([{ name, holder: this.holder, term, ttlMs, ...parts }], call),
    );
  }

  async release(
    name: string,
    term: number,
    call: CallOptions = this.#stage.call,
    reason?: string,
  ): Promise<EndResult> {
    const because = reason === undefined ? {} : { reason };
    const request = { name, holder: this.holder, term, ...because };
    return only(await this.client.release([request], call));
  }

  async releaseAttempt(name: string, attempt: string): Promise<EndResult> {
    return only(
      await this.client.release([{ name, holder: this.holder, attempt }], this.#stage.call),
    );
  }

  async handOff(
    name: string,
    term: number,
    to: string,
    reserveMs = this.#stage.ttlMs,
    call: CallOptions = this.#stage.call,
  ): Promise<EndResult> {
    return only(
      await this.client.handoff([{ name, holder: this.holder, term, to, reserveMs }], call),
    );
  }

  /** Waits for the name: with preference 0, and much longer than a case takes. */
  async enroll(
    name: string,
    parts: Partial<EnrollRequest> = {},
    call: CallOptions = this.#stage.call,
  ): Promise<EnrollResult> {
    const ttlMs = this.#stage.ttlMs * 20;
    const usual = { name, holder: this.holder, standing: 'waiting', preference: 0, ttlMs } as const;
    return only(await this.client.enroll([{ ...usual, ...parts }], call));
  }

  withdraw(name: string, call: CallOptions = this.#stage.call): Promise<void> {
    return this.client.withdraw([{ name, holder: this.holder }], call);
  }

  candidates(name: string): Promise<Candidate[]> {
    return this.client.candidates(name, this.#stage.call);
  }

  /** Collects the calls of this holder from now on. */
  hearCalls(): { readonly calls: Call[]; stop(): void } {
    const calls: Call[] = [];
    return { calls, stop: this.client.onCalled(this.holder, (call) => calls.push(call)) };
  }

  async read(name: string): Promise<LeaseRecord | undefined> {
    return only(await this.client.read([name], this.#stage.call));
  }

  /** Reads and expects a lease. */
  async readLease(name: string): Promise<HeldRecord> {
    const record = await this.read(name);
    if (record?.state === 'held') return record;
    return assert.fail(`${name} should be held: ${show(record)}`);
  }

  async seesFree(name: string): Promise<void> {
    assert.equal(await this.read(name), undefined, `${name} should be free`);
  }

  /** Expects the name to be held by `owner` in `term`. */
  async seesHeld(name: string, owner: Actor, term: number): Promise<HeldRecord> {
    const record = await this.readLease(name);
    assert.ok(record.holder.equals(owner.holder), `${name} should be held by ${owner.holder}`);
    assert.equal(record.term, term, `${name} should be held in the term it was granted in`);
    return record;
  }
}

function only<T>(results: readonly T[]): T {
  assert.equal(results.length, 1, 'a batch of one has one result');
  return results[0] as T;
}
