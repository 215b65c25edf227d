import type { RedisScript, ScriptCall } from '../../drivers/redis/index.js';
import { ClosedError, UnreachableError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { type Runtime, sleep } from '../../time/index.js';
import { Attachment, attachTimeoutMs } from './attachment.js';
import { unknownBecauseOf } from './errors.js';
import type { QuorumKeys } from './keys.js';
import { inDoubtSince, majorityOf, mayBeExecuted, type Vote, type Votes } from './majority.js';
import { withMemoriesKept } from './memories-kept.js';
import { type MembershipReports, Mending } from './mending.js';
import type { NodeVote, QuorumNode } from './node.js';
import { poll } from './poll.js';
import { describeScript } from './scripts/membership.js';

/** One question to all nodes. */
export interface Question<Answer> {
  readonly script: RedisScript;
  readonly call: ScriptCall;
  /** What a node's reply means. A throw counts as a failure of that node. */
  readonly parse: (reply: unknown, node: number) => Answer;
  readonly isDecided: (votes: Votes<Answer>) => boolean;
  /** The longest that one node may take; the call's own deadline bounds it as well. */
  readonly nodeTimeoutMs: number;
  /** It changes nothing that anybody has to know of, so a failure leaves nothing in doubt. */
  readonly isRead?: boolean;
}

/** Until when (monotonic, ms) a call has to be settled. */
export interface Deadline {
  readonly atMs: number;
}

/** Between two tries to reach what could not be reached. */
const retryPauseMs = 20;

/**
 * The nodes as one: who is a member, and what they answer together.
 *
 * A node without the marker of this quorum does nothing and has no vote. One that lost its memory gets it back from the
 * others in the background, and then its vote.
 */
export class Quorum {
  readonly nodes: readonly QuorumNode[];
  readonly majority: number;
  readonly runtime: Runtime;
  readonly keys: QuorumKeys;
  readonly #mending: Mending;
  readonly #attachment: Attachment;
  readonly #closing = new AbortController();
  #marker: string | undefined;
  #attaching: Promise<void> | undefined;
  #lastStampMs = 0;

  constructor(
    nodes: readonly QuorumNode[],
    keys: QuorumKeys,
    runtime: Runtime,
    largestTtlMs: number,
    reports: MembershipReports,
  ) {
    this.nodes = nodes;
    this.keys = keys;
    this.runtime = runtime;
    this.majority = majorityOf(nodes.length);
    const pause = (durationMs: number) => this.pause(durationMs);
    const all = { nodes, keys, runtime, pause, closing: this.#closing.signal };
    this.#mending = new Mending(all, reports);
    const terms = { nodeCount: nodes.length, largestTtlMs };
    this.#attachment = new Attachment(all, terms, this.#mending);
    for (const { number, session } of nodes)
      session.on('connected', ({ facts }) => {
        this.#attachment.noteFacts(number, facts);
        // It may come back without its memory: whoever looks at once gives it back soonest.
        void this.askOne(number, describeScript, this.#attachment.viewCall, attachTimeoutMs);
      });
  }

  get addresses(): string[] {
    return this.nodes.map(({ address }) => address);
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  deadlineIn(timeoutMs: number): Deadline {
    return { atMs: this.nowMs() + timeoutMs };
  }

  leftMs(deadline: Deadline): number {
    return deadline.atMs - this.nowMs();
  }

  nowMs(): number {
    return this.runtime.now().monotonicMs;
  }

  pause(durationMs: number): Promise<void> {
    return sleep(this.runtime, durationMs, this.#closing.signal);
  }

  /**
   * A moment as Unix time, for what is written down at every node: the middle of what the nodes' clocks show. Never the same
   * twice here.
   */
  stampMs(): number {
    const clocks = this.nodes
      .flatMap(({ clockMs }) => clockMs ?? [])
      .sort((one, other) => one - other);
    const middleMs = clocks[Math.floor(clocks.length / 2)] ?? 0;
    this.#lastStampMs = Math.max(this.#lastStampMs + 1, Math.floor(middleMs));
    return this.#lastStampMs;
  }

  /**
   * Asks all nodes, and resolves with their votes when these decide, when all are in, or at the deadline.
   *
   * A vote does not count if its node may have lost it before the others were asked (see `memories-kept.ts`).
   *
   * @throws {StoreMisconfiguredError}, {@link StoreRefusedError}, {@link ClosedError}, or {@link UnreachableError} if the
   * quorum could not be found; then nothing was executed. {@link OutcomeUnknownError} if it was lost after some were asked.
   */
  async ask<Answer>(question: Question<Answer>, deadline: Deadline): Promise<Votes<Answer>> {
    const marker = await this.#markerBy(deadline);
    const votes = await this.#ask(question, marker, deadline);
    const outsiders = votes.filter(({ kind }) => kind === 'outsider').length;
    if (outsiders <= this.nodes.length - this.majority || this.isClosed) return votes;
    // A majority does not know us any more. What it does know, the next look tells; that look is also the last one.
    if (this.#marker === marker) this.#marker = undefined;
    const isInDoubt = question.isRead !== true && votes.some(mayBeExecuted);
    const next = await this.#markerBy(deadline).catch((error: Error) => {
      throw isInDoubt ? unknownBecauseOf(error) : error;
    });
    const answered = await this.#ask(question, next, deadline);
    return isInDoubt ? inDoubtSince(votes, answered) : answered;
  }

  async #ask<Answer>(
    question: Question<Answer>,
    marker: string,
    deadline: Deadline,
  ): Promise<Votes<Answer>> {
    const leftMs = Math.max(0, this.leftMs(deadline));
    const given: (NodeVote | undefined)[] = [];
    // A little less than the call has, so that what became of each request is known when that is over.
    const requestsBy = { atMs: deadline.atMs - Math.min(5, leftMs / 20) };
    const answered = new AbortController();
    const requests = this.nodes.map(
      (node) => (report: (vote: Vote<Answer>) => void) =>
        this.#askNode(node, question, marker, requestsBy, answered.signal, (vote) => {
          given[node.number] = vote;
          report(vote.kind === 'answered' ? this.#read(node, vote.answer, question) : vote);
        }),
    );
    const votes = await poll(this.runtime, requests, {
      timeoutMs: leftMs,
      isLagging: (node) => this.nodes[node]?.isLagging === true,
      isDecided: question.isDecided,
    });
    answered.abort();
    const timeoutMs = Math.max(0, Math.min(this.leftMs(requestsBy), question.nodeTimeoutMs));
    const known = { keys: this.keys, text: marker };
    return withMemoriesKept(this.nodes, votes, given, known, timeoutMs);
  }

  /** Tries again while nothing was sent, there is time, and somebody waits for it. Never rejects. */
  async #askNode<Answer>(
    node: QuorumNode,
    { script, call, nodeTimeoutMs }: Question<Answer>,
    text: string,
    deadline: Deadline,
    answered: AbortSignal,
    report: (vote: NodeVote) => void,
  ): Promise<void> {
    const isOver = () => answered.aborted || this.isClosed || this.leftMs(deadline) <= retryPauseMs;
    for (;;) {
      const timeoutMs = Math.max(0, Math.min(this.leftMs(deadline), nodeTimeoutMs));
      const vote = await node.vote(script, call, { keys: this.keys, text }, timeoutMs);
      if (vote.kind === 'outsider') this.#mending.mend(node.number, text);
      report(vote);
      const isUnsent = vote.kind === 'failed' && vote.error instanceof UnreachableError;
      if (!isUnsent || isOver()) return;
      await this.pause(retryPauseMs);
      // What nobody waits for any more may be taken back by now, and must not come behind that.
      if (isOver()) return;
    }
  }

  #read<Answer>(node: QuorumNode, reply: unknown, { parse }: Question<Answer>): Vote<Answer> {
    this.#mending.noteMember(node.number);
    try {
      return { kind: 'answered', answer: parse(reply, node.number) };
    } catch (error) {
      return { kind: 'failed', error: error as Error, executed: 'no' };
    }
  }

  /** Asks one node alone, if it is a member. Never rejects. */
  async askOne(
    node: number,
    script: RedisScript,
    call: ScriptCall,
    timeoutMs: number,
  ): Promise<Vote<unknown>> {
    if (this.#marker === undefined) return { kind: 'outsider' };
    const text = this.#marker;
    const vote = await this.#nodeAt(node).vote(script, call, { keys: this.keys, text }, timeoutMs);
    if (vote.kind === 'outsider') this.#mending.mend(node, text);
    return vote;
  }

  async #markerBy(deadline: Deadline): Promise<string> {
    // Where the time is over in the middle of a try, the one before it tells why.
    let unreachable: UnreachableError | undefined;
    for (;;) {
      this.throwIfClosed();
      let failure: unknown;
      if (this.#marker === undefined)
        await this.#attachBy(deadline).catch((error: unknown) => {
          failure = error;
        });
      this.#attachment.throwIfSameServer();
      if (this.#marker !== undefined) return this.#marker;
      if (failure instanceof UnreachableError) unreachable = failure;
      else if (failure !== undefined) throw failure;
      if (this.leftMs(deadline) <= retryPauseMs) throw unreachable ?? this.#silent();
      await this.pause(retryPauseMs);
    }
  }

  #silent(): UnreachableError {
    return unreachable(
      'timeout',
      `the nodes of the quorum did not answer in time: ${this.addresses.join(', ')}. Allow more time, or look whether a majority of them runs and can be reached.`,
    );
  }

  async #attachBy(deadline: Deadline): Promise<void> {
    this.#attaching ??= this.#attachment
      .find()
      .then((marker) => {
        this.#marker = marker;
      })
      .finally(() => {
        this.#attaching = undefined;
      });
    const waiting = new AbortController();
    const timeout = sleep(this.runtime, Math.max(0, this.leftMs(deadline)), waiting.signal);
    // Whoever comes after us waits for it too, and hears of a failure then.
    this.#attaching.catch(() => undefined);
    try {
      await Promise.race([this.#attaching, timeout]);
    } finally {
      waiting.abort();
    }
  }

  #nodeAt(number: number): QuorumNode {
    return this.nodes[number] as QuorumNode;
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    this.throwIfClosedUnless(false);
  }

  /** A call that was under way may have been executed: "closed" would say that it was not. @throws {ClosedError} */
  throwIfClosedUnless(isInDoubt: boolean): void {
    if (this.isClosed && !isInDoubt) throw new ClosedError('the Redis quorum');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.nodes.map((node) => node.close()));
  }
}
