import assert from 'node:assert/strict';
import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';
import { elapsedMs } from '../../time/index.js';
import type { CallOptions, Coordinator } from '../contract.js';
import { Holder } from '../holder.js';
import { Actor } from './actor.js';
import { Operator } from './operator.js';
import type { ConformanceSubject, ControlName, SubjectControls } from './subject.js';

/** How many ttls a state may take to come about before a case gives up on it. */
const patienceTtls = 10;

interface ObservedEnd {
  error: unknown;
  /** `undefined` while the call has not settled. */
  tookMs: number | undefined;
  limitMs: number;
}

/** The stage of one case: its actors, its time, and what it can break. */
export class Scene {
  readonly subject: ConformanceSubject;
  readonly ttlMs: number;

  constructor(subject: ConformanceSubject) {
    this.subject = subject;
    this.ttlMs = subject.ttlMs;
  }

  get call(): CallOptions {
    return { timeoutMs: this.subject.timeoutMs };
  }

  /** A process of its own: a new client, and a holder of this id. */
  async actor(id: string): Promise<Actor> {
    return new Actor(this, await this.subject.connect(), this.holder(id));
  }

  async operator(): Promise<Operator> {
    return new Operator(await this.subject.connect(), this.call);
  }

  /** A new incarnation: the id may be known, the nonce is not. */
  holder(id: string): Holder {
    return Holder.create(id, this.subject.runtime);
  }

  attempt(): string {
    return this.subject.runtime.randomHex(16);
  }

  newName(): string {
    return this.subject.newName();
  }

  /** A name beside `name`, in the same group. */
  sibling(name: string, segment: string): string {
    return name.slice(0, name.lastIndexOf('/') + 1) + segment;
  }

  /** Lets this share of the ttl pass. */
  async pass(ttlShare: number): Promise<void> {
    await this.subject.advance(this.ttlMs * ttlShare);
  }

  /** Lets a lease of the usual ttl that was granted or renewed before now expire. */
  async passTtl(): Promise<void> {
    await this.subject.advance(this.ttlMs + 1);
  }

  control<Name extends ControlName>(name: Name): SubjectControls[Name] {
    const control = this.subject.controls[name];
    assert.ok(
      control,
      `the subject neither offers the control "${name}" nor declares it impossible, with a reason`,
    );
    return control;
  }

  async disturb(
    name: 'hang' | 'cut' | 'loseReplies' | 'holdRequests' | 'duplicateRequests',
    client: Coordinator,
  ): Promise<void> {
    await this.control(name)(client);
  }

  /**
   * Lets `timeoutMs` pass, and expects that the call settled within it, without an answer.
   *
   * @returns whether the error leaves open that the request was executed.
   */
  async unanswered(
    call: Promise<unknown>,
    timeoutMs: number,
    what: string,
  ): Promise<'unknown' | 'not-executed'> {
    const [verdict] = await this.allUnanswered([{ call, timeoutMs, what }]);
    return verdict as 'unknown' | 'not-executed';
  }

  /** The same for calls that were made at the same time, just now. */
  async allUnanswered(
    calls: readonly { call: Promise<unknown>; timeoutMs: number; what: string }[],
  ): Promise<('unknown' | 'not-executed')[]> {
    const { timerSlackMs } = this.subject;
    const ends = calls.map(({ call, timeoutMs }) => this.#observe(call, timeoutMs));
    const longestMs = Math.max(...calls.map(({ timeoutMs }) => timeoutMs));
    await this.subject.advance(longestMs + timerSlackMs);
    return calls.map(({ timeoutMs, what }, index) => {
      const { error, tookMs, limitMs } = ends[index] as ObservedEnd;
      assert.notEqual(tookMs, undefined, `${what} did not settle within ${timeoutMs} ms`);
      assert.ok(
        (tookMs ?? 0) <= limitMs + timerSlackMs,
        `${what} had ${timeoutMs} ms and took ${tookMs} ms`,
      );
      if (error instanceof OutcomeUnknownError) return 'unknown';
      assert.ok(
        error instanceof UnreachableError,
        `${what} should be unknown or unreachable: ${error ?? 'it was answered'}`,
      );
      return 'not-executed';
    });
  }

  /** On a busy machine every timer is late: a timer of our own for the same moment says by how much, just then. */
  #observe(call: Promise<unknown>, timeoutMs: number): ObservedEnd {
    const { runtime } = this.subject;
    const startedAt = runtime.now();
    const end: ObservedEnd = { error: undefined, tookMs: undefined, limitMs: timeoutMs };
    const settle = (error?: unknown) => {
      end.error = error;
      end.tookMs = elapsedMs(startedAt, runtime.now());
    };
    call.then(() => settle(), settle);
    runtime.setTimer(timeoutMs, () => {
      end.limitMs = Math.max(timeoutMs, elapsedMs(startedAt, runtime.now()));
    });
    return end;
  }

  /** Holds the request back until its caller has given it up, then delivers it. */
  async arrivesLate(
    client: Coordinator,
    send: (call: CallOptions) => Promise<unknown>,
    meanwhile: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    await this.disturb('holdRequests', client);
    const { timeoutMs } = this.call;
    const verdict = await this.unanswered(send(this.call), timeoutMs, 'a held request');
    assert.equal(verdict, 'unknown', 'a request that is still on its way is not "not executed"');
    await meanwhile();
    await this.subject.advance(1);
    await this.control('flushRequests')(client);
  }

  /** Waits until a client that may have lost its connection, and some calls, finds the store again. */
  async reconnected(...clients: readonly Coordinator[]): Promise<void> {
    const name = this.newName();
    for (const client of clients) {
      await this.eventually('an answer after the restart', async () => {
        const reading = client.read([name], this.call).then(
          () => true,
          () => false,
        );
        return this.subject.until(reading);
      });
    }
  }

  /** Waits for a state that may take a moment, such as a wake or a new connection. */
  async eventually(
    what: string,
    isSo: () => boolean | Promise<boolean>,
    limitMs = this.ttlMs * patienceTtls,
  ): Promise<void> {
    const stepMs = Math.min(limitMs / 10, this.ttlMs / 20);
    for (let waitedMs = 0; waitedMs <= limitMs; waitedMs += stepMs) {
      if (await isSo()) return;
      await this.subject.advance(stepMs);
    }
    assert.fail(`${what} did not come about within ${limitMs} ms`);
  }

  /** Ends the disturbance and waits until the client gets answers again. */
  async recover({ client }: { readonly client: Coordinator }): Promise<void> {
    await this.control('heal')(client);
    const name = this.newName();
    await this.eventually('an answer after the fault ended', async () => {
      try {
        await this.subject.until(client.read([name], this.call));
        return true;
      } catch (error) {
        if (error instanceof OutcomeUnknownError || error instanceof UnreachableError) return false;
        throw error;
      }
    });
  }
}
