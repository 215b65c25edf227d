import assert from 'node:assert/strict';
import { type CallOptions, Holder } from '../../coordinators/index.js';
import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
import { elapsedMs } from '../../time/index.js';
import type {
  PublishRequest,
  PublishResult,
  StepRequest,
  StepResult,
  StoredMessage,
  StreamStore,
} from '../contract.js';
import type { StreamControlName, StreamControls, StreamSubject } from './subject.js';

/** The stage of one case: its stores, its owners, its time, and what it can break. */
export class StreamScene {
  readonly subject: StreamSubject;
  #idCount = 0;

  constructor(subject: StreamSubject) {
    this.subject = subject;
  }

  get call(): CallOptions {
    return { timeoutMs: this.subject.timeoutMs };
  }

  connect(): Promise<StreamStore> {
    return this.subject.connect();
  }

  /** A token of a new incarnation, whose holder is nobody else's. */
  token(term: number, shard = 0): FencingToken {
    const holder = Holder.create('worker', this.subject.runtime);
    return { name: `orders/shards/${shard}`, term, holder };
  }

  /** A message with an id of its own unless `parts` say otherwise. */
  message(key: string, parts: Partial<PublishRequest> = {}): PublishRequest {
    this.#idCount += 1;
    return { shard: 0, key, id: `m${this.#idCount}`, payload: `"${key}"`, ...parts };
  }

  publish(store: StreamStore, ...requests: PublishRequest[]): Promise<PublishResult[]> {
    return store.publish(requests, this.call);
  }

  /** Publishes and expects every message to be appended. @returns their seqs. */
  async append(store: StreamStore, ...requests: PublishRequest[]): Promise<number[]> {
    const results = await this.publish(store, ...requests);
    return results.map((result) => {
      assert.equal(result.outcome, 'appended', `expected an append, got ${show(result)}`);
      return result.outcome === 'appended' ? result.seq : 0;
    });
  }

  /** A worker that owns a shard: its token is installed. */
  async own(store: StreamStore, term: number, shard = 0): Promise<FencingToken> {
    const token = this.token(term, shard);
    const results = await store.install([{ shard, token }], this.call);
    assert.deepEqual(results, [{ outcome: 'installed' }], `term ${term} is installed`);
    return token;
  }

  async step(
    store: StreamStore,
    token: FencingToken,
    parts: Partial<StepRequest> = {},
  ): Promise<StepResult> {
    const request = { shard: 0, acknowledge: [], after: undefined, limit: 100, ...parts };
    return only(await store.step([{ ...request, token }], this.call));
  }

  /** Steps and expects to be the owner. @returns what was read. */
  async read(
    store: StreamStore,
    token: FencingToken,
    parts: Partial<StepRequest> = {},
  ): Promise<readonly StoredMessage[]> {
    const result = await this.step(store, token, parts);
    if (result.outcome === 'ok') return result.messages;
    return assert.fail(`the owner is refused: ${show(result)}`);
  }

  /** Acknowledges, reading nothing. @returns how many were still there. */
  async acknowledge(
    store: StreamStore,
    token: FencingToken,
    messages: readonly StoredMessage[],
    shard = 0,
  ): Promise<number> {
    const acknowledge = messages.map(({ position }) => position);
    const result = await this.step(store, token, { shard, acknowledge, limit: 0 });
    assert.equal(result.outcome, 'ok', 'the owner may acknowledge');
    return result.outcome === 'ok' ? result.acknowledgedCount : 0;
  }

  /** Seals and expects not to be overtaken. */
  async seal(
    store: StreamStore,
    key: string,
    version: number,
    shard = 0,
  ): Promise<{ readonly lastSeq: number; readonly drained: boolean }> {
    const result = await store.seal(shard, key, version, this.call);
    if (result.outcome !== 'sealed') return assert.fail(`not sealed: ${show(result)}`);
    const { lastSeq, drained } = result;
    return { lastSeq, drained };
  }

  /** Opens and expects not to be overtaken. */
  async open(
    store: StreamStore,
    key: string,
    lastSeq: number,
    version: number,
    shard = 0,
  ): Promise<void> {
    const result = await store.open(shard, key, lastSeq, version, this.call);
    assert.deepEqual(result, { outcome: 'opened' });
  }

  control<Name extends StreamControlName>(name: Name): StreamControls[Name] {
    const control = this.subject.controls[name];
    assert.ok(control, `the subject offers no control "${name}"`);
    return control;
  }

  /** Expects the call to settle in time without an answer. */
  async unanswered(call: Promise<unknown>, timeoutMs: number, what: string): Promise<void> {
    const startedAt = this.subject.runtime.now();
    const error = await this.subject.until(
      call.then(
        () => assert.fail(`${what} was answered, though nothing could be`),
        (reason: unknown) => reason,
      ),
    );
    const tookMs = elapsedMs(startedAt, this.subject.runtime.now());
    const limitMs = timeoutMs + this.subject.timerSlackMs;
    assert.ok(tookMs <= limitMs, `${what} took ${tookMs} ms; it had ${timeoutMs} ms`);
    const isHonest = error instanceof OutcomeUnknownError || error instanceof UnreachableError;
    assert.ok(isHonest, `${what} fails as unknown or unreachable, not with ${error}`);
  }

  /** Waits for a state that may take a moment, such as a ring or a new connection. */
  async eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const stepMs = this.subject.timeoutMs / 50;
    for (let waitedMs = 0; waitedMs <= this.subject.timeoutMs * 10; waitedMs += stepMs) {
      if (await isSo()) return;
      await this.subject.advance(stepMs);
    }
    assert.fail(`${what} did not come about in ${this.subject.timeoutMs * 10} ms`);
  }

  /** Waits until the client gets answers (again). */
  async answers(store: StreamStore): Promise<void> {
    await this.eventually('an answer', async () => {
      try {
        await this.subject.until(store.backlog([0], this.call));
        return true;
      } catch (error) {
        if (error instanceof OutcomeUnknownError || error instanceof UnreachableError) return false;
        throw error;
      }
    });
  }
}

export function only<Value>(values: readonly Value[]): Value {
  assert.equal(values.length, 1, 'a batch of one has one answer');
  return values[0] as Value;
}

export function show(value: unknown): string {
  return JSON.stringify(value);
}

/** `key:seq` of each message, in its order. */
export function names(messages: readonly StoredMessage[]): string[] {
  return messages.map(({ key, seq }) => `${key}:${seq}`);
}
