import type { RedisFacts, RedisScript, ScriptCall } from '../../drivers/redis/index.js';
import {
  ClosedError,
  OptionError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { type Runtime, sleep } from '../../time/index.js';
import { noMajority } from './errors.js';
import type { QuorumKeys } from './keys.js';
import { answersOf, majorityOf, type Vote, type Votes } from './majority.js';
import { judgeMembership, markerOf, type NodeView, parseMarker, type Terms } from './membership.js';
import type { QuorumNode } from './node.js';
import { poll } from './poll.js';
import {
  describeScript,
  enlistScript,
  identifyScript,
  quarantineScript,
} from './scripts/membership.js';
import { seedNode } from './seeding.js';

/** One question to all nodes. */
export interface Question<Answer> {
  readonly script: RedisScript;
  readonly call: ScriptCall;
  /** What a node's reply means. A throw counts as a failure of that node. */
  readonly parse: (reply: unknown, node: number) => Answer;
  readonly isDecided: (votes: Votes<Answer>) => boolean;
  /** The longest that one node may take; the call's own deadline bounds it as well. */
  readonly nodeTimeoutMs: number;
}

export interface QuorumReports {
  nodeOut(address: string, reason: string): void;
  nodeReseeded(address: string): void;
}

/** Until when (monotonic, ms) a call has to be settled. */
export interface Deadline {
  readonly atMs: number;
}

/** After a failed try to give a node its memory back, the next one waits for this long. */
const mendPauseMs = 1_000;
/** Connecting, and the first questions, may take longer than what follows. */
const attachTimeoutMs = 1_000;
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
  readonly #terms: Terms;
  readonly #reports: QuorumReports;
  readonly #closing = new AbortController();
  readonly #out = new Set<number>();
  readonly #mendings = new Map<number, { notBeforeMs: number; isRunning: boolean }>();
  readonly #facts: (RedisFacts | undefined)[] = [];
  #marker: string | undefined;
  #attaching: Promise<void> | undefined;
  #lastStampMs = 0;

  constructor(
    nodes: readonly QuorumNode[],
    keys: QuorumKeys,
    runtime: Runtime,
    largestTtlMs: number,
    reports: QuorumReports,
  ) {
    this.nodes = nodes;
    this.keys = keys;
    this.runtime = runtime;
    this.majority = majorityOf(nodes.length);
    this.#terms = { nodeCount: nodes.length, largestTtlMs };
    this.#reports = reports;
    for (const node of nodes)
      node.session.on('connected', ({ facts }) => {
        this.#facts[node.number] = facts;
        // It may come back without its memory: whoever looks at once gives it back soonest.
        void this.askOne(node.number, describeScript, this.#viewCall(), attachTimeoutMs);
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
   * @throws {StoreMisconfiguredError}, {@link ClosedError}, or {@link UnreachableError} if the quorum could not be found; then
   * nothing was asked.
   */
  async ask<Answer>(question: Question<Answer>, deadline: Deadline): Promise<Votes<Answer>> {
    const marker = await this.#markerBy(deadline);
    const votes = await this.#ask(question, marker, deadline);
    const outsiders = votes.filter(({ kind }) => kind === 'outsider').length;
    if (outsiders <= this.nodes.length - this.majority || this.isClosed) return votes;
    // A majority does not know us any more. What it does know, the next look tells; that look is also the last one.
    if (this.#marker === marker) this.#marker = undefined;
    return this.#ask(question, await this.#markerBy(deadline), deadline);
  }

  async #ask<Answer>(
    question: Question<Answer>,
    marker: string,
    deadline: Deadline,
  ): Promise<Votes<Answer>> {
    const leftMs = Math.max(0, this.leftMs(deadline));
    // A little less than the call has, so that what became of each request is known when that is over.
    const requestsBy = { atMs: deadline.atMs - Math.min(5, leftMs / 20) };
    const answered = new AbortController();
    const requests = this.nodes.map(
      (node) => (report: (vote: Vote<Answer>) => void) =>
        this.#askNode(node, question, marker, requestsBy, answered.signal, report),
    );
    const votes = await poll(this.runtime, requests, {
      timeoutMs: leftMs,
      isLagging: (node) => this.nodes[node]?.isLagging === true,
      isDecided: question.isDecided,
    });
    answered.abort();
    return votes;
  }

  /** Tries again while nothing was sent, there is time, and somebody waits for it. Never rejects. */
  async #askNode<Answer>(
    node: QuorumNode,
    { script, call, parse, nodeTimeoutMs }: Question<Answer>,
    text: string,
    deadline: Deadline,
    answered: AbortSignal,
    report: (vote: Vote<Answer>) => void,
  ): Promise<void> {
    const marker = { key: this.keys.marker, text };
    for (;;) {
      const timeoutMs = Math.max(0, Math.min(this.leftMs(deadline), nodeTimeoutMs));
      const vote = await node.vote(script, call, marker, timeoutMs);
      if (vote.kind === 'outsider') this.#mend(node.number, text);
      report(vote.kind === 'answered' ? this.#read(node.number, vote.answer, parse) : vote);
      const isUnsent = vote.kind === 'failed' && vote.error instanceof UnreachableError;
      const isOver = answered.aborted || this.isClosed || this.leftMs(deadline) <= retryPauseMs;
      if (!isUnsent || isOver) return;
      await this.pause(retryPauseMs);
    }
  }

  #read<Answer>(node: number, reply: unknown, parse: Question<Answer>['parse']): Vote<Answer> {
    this.#out.delete(node);
    try {
      return { kind: 'answered', answer: parse(reply, node) };
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
    const marker = { key: this.keys.marker, text };
    const vote = await this.#nodeAt(node).vote(script, call, marker, timeoutMs);
    if (vote.kind === 'outsider') this.#mend(node, text);
    return vote;
  }

  async #markerBy(deadline: Deadline): Promise<string> {
    for (;;) {
      this.throwIfClosed();
      let failure: unknown;
      if (this.#marker === undefined)
        await this.#attachBy(deadline).catch((error: unknown) => {
          failure = error;
        });
      this.#throwIfSameServer();
      if (this.#marker !== undefined) return this.#marker;
      if (failure !== undefined && !(failure instanceof UnreachableError)) throw failure;
      if (this.leftMs(deadline) <= retryPauseMs)
        throw failure ?? new UnreachableError('the nodes of the quorum did not answer in time');
      await this.pause(retryPauseMs);
    }
  }

  async #attachBy(deadline: Deadline): Promise<void> {
    this.#attaching ??= this.#attach().finally(() => {
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

  /** Finds out who the members are, or makes a quorum of nodes that are new. */
  async #attach(): Promise<void> {
    const votes = await this.#askEach<NodeView>(
      describeScript,
      this.#viewCall(),
      parseView,
      (soFar) => judgeMembership(soFar).kind === 'members',
    );
    this.#throwIfUnusable(votes);
    const membership = judgeMembership(votes);
    switch (membership.kind) {
      case 'members':
        this.#adopt(membership.marker);
        for (const node of membership.strangers)
          this.#noteOut(node, 'it is a member of another quorum');
        for (const node of membership.blank) this.#mend(node, membership.marker);
        return;
      case 'new':
        return this.#found(votes);
      case 'forgotten':
        return this.#rebuild(membership.marker, membership.blank);
      case 'unknown':
        throw noMajority('who they are', votes, this.addresses, true);
    }
  }

  #viewCall(): ScriptCall {
    return { keys: [this.keys.marker, this.keys.identity, this.keys.quarantine], args: [] };
  }

  /** Each step is the same whoever takes it, so that several may set up one quorum at the same time. */
  async #found(views: Votes<NodeView>): Promise<void> {
    const identified = await this.#askEach(
      identifyScript,
      () => ({ keys: [this.keys.identity], args: [this.runtime.randomHex(8)] }),
      String,
    );
    const identities = answersOf(identified).map(({ answer }) => answer);
    if (identities.length < this.nodes.length)
      throw noMajority(
        'the setting up of a new quorum, which needs all of them',
        identified,
        this.addresses,
        true,
      );
    this.#throwIfRepeated(identities);
    const marker = markerOf(this.#terms, identities);
    const known = answersOf(views).flatMap(({ answer }) => answer.marker ?? []);
    if (known.some((other) => other !== marker)) {
      const blank = answersOf(views).flatMap(({ node, answer }) =>
        answer.marker === null ? [node] : [],
      );
      return this.#rebuild(known[0] ?? marker, blank);
    }
    const enlisted = await this.#askEach(
      enlistScript,
      (node) => ({ keys: this.#viewCall().keys, args: [marker, identities[node] ?? ''] }),
      (reply) => (typeof reply === 'string' ? reply : ''),
    );
    const members = answersOf(enlisted).filter(({ answer }) => answer === marker);
    if (members.length < this.majority)
      throw noMajority('the setting up of a new quorum', enlisted, this.addresses, true);
    this.#adopt(marker);
  }

  /**
   * A majority has lost its memory. What it had granted nobody knows, so nobody is granted anything until all of that is
   * over: the largest ttl, and a lock-delay as long. Then the rest tell what they know.
   */
  async #rebuild(marker: string, blank: readonly number[]): Promise<void> {
    this.#throwUnlessOurs(marker);
    const waits = await Promise.all(
      blank.map((number) =>
        this.#nodeAt(number)
          .ask(
            quarantineScript,
            {
              keys: [this.keys.marker, this.keys.quarantine],
              args: [2 * this.#terms.largestTtlMs],
            },
            attachTimeoutMs,
          )
          .then(Number, () => Number.POSITIVE_INFINITY),
      ),
    );
    for (const [index, number] of blank.entries()) {
      if (waits[index] === 0) this.#mend(number, marker, 1);
      else this.#noteOut(number, 'it lost its memory, and so did a majority');
    }
    const leftMs = Math.max(...waits.filter(Number.isFinite));
    throw new StoreRefusedError(
      'QUARANTINE',
      `${blank.length} of ${this.nodes.length} nodes have lost their memory, a majority: what they had granted is not known, so nothing is granted for another ${Math.ceil(leftMs / 1000)} s. Bring back a node that remembers to end that sooner.`,
    );
  }

  #adopt(marker: string): void {
    this.#throwUnlessOurs(marker);
    this.#marker = marker;
  }

  #throwUnlessOurs(marker: string): void {
    const theirs = parseMarker(marker);
    const { nodeCount, largestTtlMs } = this.#terms;
    if (theirs?.nodeCount === nodeCount && theirs.largestTtlMs === largestTtlMs) return;
    throw new StoreMisconfiguredError(
      `the nodes are a quorum of ${theirs?.nodeCount ?? 'another kind'} with a largestTtlMs of ${theirs?.largestTtlMs ?? 'another kind'}, and this client was given ${nodeCount} nodes and ${largestTtlMs}: majorities that are counted in two ways do not exclude each other. Give every client the same nodes and the same largestTtlMs.`,
    );
  }

  #throwIfUnusable(votes: Votes<NodeView>): void {
    for (const vote of votes) {
      const isFatal =
        vote.kind === 'failed' &&
        (vote.error instanceof StoreMisconfiguredError || vote.error instanceof OptionError);
      if (isFatal) throw vote.error;
    }
    this.#throwIfSameServer();
    this.#throwIfRepeated(answersOf(votes).flatMap(({ answer }) => answer.identity ?? []));
  }

  /** Two addresses of one server are one node with two votes. @throws {StoreMisconfiguredError} */
  #throwIfSameServer(): void {
    this.#throwIfRepeated(this.#facts.flatMap((facts) => facts?.runId || []));
  }

  #throwIfRepeated(ids: readonly string[]): void {
    if (new Set(ids).size === ids.length) return;
    throw new StoreMisconfiguredError(
      `two addresses of the quorum (${this.addresses.join(', ')}) lead to one server: a quorum needs independent masters, each once.`,
    );
  }

  /** Asks each node whether or not it is a member. */
  async #askEach<Answer>(
    script: RedisScript,
    call: ScriptCall | ((node: number) => ScriptCall),
    parse: (reply: unknown) => Answer,
    isDecided: (votes: Votes<Answer>) => boolean = () => false,
  ): Promise<Votes<Answer>> {
    const requests = this.nodes.map(
      (node) => (report: (vote: Vote<Answer>) => void) =>
        node
          .ask(script, typeof call === 'function' ? call(node.number) : call, attachTimeoutMs)
          .then((reply): Vote<Answer> => ({ kind: 'answered', answer: parse(reply) }))
          .catch((error: Error): Vote<Answer> => ({ kind: 'failed', error, executed: 'no' }))
          .then(report),
    );
    return poll(this.runtime, requests, {
      timeoutMs: attachTimeoutMs,
      isLagging: (node) => this.nodes[node]?.isLagging === true,
      isDecided,
    });
  }

  #noteOut(node: number, reason: string): void {
    if (this.#out.has(node)) return;
    this.#out.add(node);
    this.#reports.nodeOut(this.#nodeAt(node).address, reason);
  }

  /** Gives a node its memory back, unless somebody is at it or has just tried. `sources`: from how many others at least. */
  #mend(number: number, marker: string, sources = this.majority): void {
    const mending = this.#mendings.get(number) ?? { notBeforeMs: 0, isRunning: false };
    if (mending.isRunning || this.nowMs() < mending.notBeforeMs || this.isClosed) return;
    mending.isRunning = true;
    this.#mendings.set(number, mending);
    void seedNode(this, number, marker, sources)
      .then((outcome) => {
        if (outcome === 'stranger') this.#noteOut(number, 'it is a member of another quorum');
        if (outcome === 'seeded') {
          this.#out.delete(number);
          this.#reports.nodeReseeded(this.#nodeAt(number).address);
        }
      })
      .catch(() => undefined)
      .finally(() => {
        mending.isRunning = false;
        mending.notBeforeMs = this.nowMs() + mendPauseMs;
      });
  }

  /** For the seeding. */
  noteLost(number: number): void {
    this.#noteOut(number, 'it lost its memory');
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

function parseView(reply: unknown): NodeView {
  const [marker, identity] = reply as (string | null)[];
  return { marker: marker ?? null, identity: identity ?? null };
}
