import type { RedisFacts, RedisScript, ScriptCall } from '../../drivers/redis/index.js';
import { OptionError, StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';
import { noMajority } from './errors.js';
import { answersOf, majorityOf, type Vote, type Votes } from './majority.js';
import { judgeMembership, markerOf, type NodeView, parseMarker, type Terms } from './membership.js';
import type { Mending, Nodes } from './mending.js';
import type { QuorumNode } from './node.js';
import { poll } from './poll.js';
import {
  describeScript,
  enlistScript,
  identifyScript,
  isUsedAlone,
  quarantineScript,
} from './scripts/membership.js';

/** Connecting, and the first questions, may take longer than what follows. */
export const attachTimeoutMs = 1_000;
/** A little more for all of them, so that each has said by then why it did not answer. */
const allTimeoutMs = attachTimeoutMs + 250;

/** Finds the quorum that the nodes are, sees whether it is what this client was given, and sets up a new one. */
export class Attachment {
  readonly #nodes: Nodes;
  readonly #terms: Terms;
  readonly #mending: Mending;
  readonly #facts: (RedisFacts | undefined)[] = [];

  constructor(nodes: Nodes, terms: Terms, mending: Mending) {
    this.#nodes = nodes;
    this.#terms = terms;
    this.#mending = mending;
  }

  get #addresses(): string[] {
    return this.#nodes.nodes.map(({ address }) => address);
  }

  noteFacts(number: number, facts: RedisFacts | undefined): void {
    this.#facts[number] = facts;
  }

  /** @returns the marker of the members, or of the quorum that was made of nodes that are new. */
  async find(): Promise<string> {
    const votes = await this.#askEach<NodeView>(
      describeScript,
      this.viewCall,
      parseView,
      (soFar) => judgeMembership(soFar).kind === 'members',
    );
    this.#throwIfUnusable(votes);
    const membership = judgeMembership(votes);
    switch (membership.kind) {
      case 'members':
        this.#throwUnlessOurs(membership.marker);
        for (const node of membership.strangers)
          this.#mending.noteOut(node, 'it is a member of another quorum');
        for (const node of membership.blank) this.#mending.mend(node, membership.marker);
        return membership.marker;
      case 'new':
        return this.#found(votes);
      case 'forgotten':
        return this.#rebuild(membership.marker, membership.blank);
      case 'unknown':
        throw noMajority('who they are', votes, this.#addresses, true);
    }
  }

  /** Reads what a node is. */
  get viewCall(): ScriptCall {
    const { keys } = this.#nodes;
    return { keys: [keys.marker, keys.identity, keys.quarantine, keys.term], args: [] };
  }

  /** Each step is the same whoever takes it, so that several may set up one quorum at the same time. */
  async #found(views: Votes<NodeView>): Promise<string> {
    this.#throwIfUsedAlone(answersOf(views).filter(({ answer }) => answer.isUsedAlone));
    const identified = await this.#askEach(
      identifyScript,
      () => ({ keys: [this.#nodes.keys.identity], args: [this.#nodes.runtime.randomHex(8)] }),
      String,
    );
    const identities = answersOf(identified).map(({ answer }) => answer);
    if (identities.length < this.#nodes.nodes.length)
      throw noMajority(
        'the setting up of a new quorum, which needs all of them',
        identified,
        this.#addresses,
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
      (node) => ({ keys: this.viewCall.keys, args: [marker, identities[node] ?? ''] }),
      (reply) => (typeof reply === 'string' ? reply : ''),
    );
    this.#throwIfUsedAlone(answersOf(enlisted).filter(({ answer }) => answer === isUsedAlone));
    const members = answersOf(enlisted).filter(({ answer }) => answer === marker);
    if (members.length < majorityOf(this.#nodes.nodes.length))
      throw noMajority('the setting up of a new quorum', enlisted, this.#addresses, true);
    return marker;
  }

  /**
   * A majority has lost its memory. What it had granted nobody knows, so nobody is granted anything until all of that is
   * over: the largest ttl, and a lock-delay as long. Then the rest tell what they know.
   */
  async #rebuild(marker: string, blank: readonly number[]): Promise<never> {
    this.#throwUnlessOurs(marker);
    const waits = await Promise.all(
      blank.map((number) =>
        (this.#nodes.nodes[number] as QuorumNode)
          .ask(
            quarantineScript,
            {
              keys: [this.#nodes.keys.marker, this.#nodes.keys.quarantine],
              args: [2 * this.#terms.largestTtlMs],
            },
            attachTimeoutMs,
          )
          .then(Number, () => Number.POSITIVE_INFINITY),
      ),
    );
    for (const [index, number] of blank.entries()) {
      if (waits[index] === 0) this.#mending.mend(number, marker, 1);
      else this.#mending.noteOut(number, 'it lost its memory, and so did a majority');
    }
    const leftMs = Math.max(...waits.filter(Number.isFinite));
    throw new StoreRefusedError(
      'QUARANTINE',
      `${blank.length} of ${this.#nodes.nodes.length} nodes have lost their memory, a majority: what they had granted is not known, so nothing is granted for another ${Math.ceil(leftMs / 1000)} s. Bring back a node that remembers to end that sooner.`,
    );
  }

  /** What a single server has granted, a quorum would grant a second time. */
  #throwIfUsedAlone(used: readonly { readonly node: number }[]): void {
    if (used.length === 0) return;
    const addresses = used.map(({ node }) => this.#addresses[node]).join(', ');
    const { everything, term } = this.#nodes.keys;
    throw new StoreMisconfiguredError(
      `${addresses} granted leases of this namespace without a quorum (the key "${term}" says so): those who hold them and the quorum would not know of each other. Use another namespace; or stop all who use redis:// URLs there, and remove the keys "${everything}".`,
    );
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
    this.throwIfSameServer();
    this.#throwIfRepeated(answersOf(votes).flatMap(({ answer }) => answer.identity ?? []));
  }

  /** Two addresses of one server are one node with two votes. @throws {StoreMisconfiguredError} */
  throwIfSameServer(): void {
    this.#throwIfRepeated(this.#facts.flatMap((facts) => facts?.runId || []));
  }

  #throwIfRepeated(ids: readonly string[]): void {
    if (new Set(ids).size === ids.length) return;
    throw new StoreMisconfiguredError(
      `two addresses of the quorum (${this.#addresses.join(', ')}) lead to one server: a quorum needs independent masters, each once.`,
    );
  }

  /** Asks each node whether or not it is a member. */
  async #askEach<Answer>(
    script: RedisScript,
    call: ScriptCall | ((node: number) => ScriptCall),
    parse: (reply: unknown) => Answer,
    isDecided: (votes: Votes<Answer>) => boolean = () => false,
  ): Promise<Votes<Answer>> {
    const requests = this.#nodes.nodes.map(
      (node) => (report: (vote: Vote<Answer>) => void) =>
        node
          .ask(script, typeof call === 'function' ? call(node.number) : call, attachTimeoutMs)
          .then((reply): Vote<Answer> => ({ kind: 'answered', answer: parse(reply) }))
          .catch((error: Error): Vote<Answer> => ({ kind: 'failed', error, executed: 'no' }))
          .then(report),
    );
    return poll(this.#nodes.runtime, requests, {
      timeoutMs: allTimeoutMs,
      isLagging: (node) => this.#nodes.nodes[node]?.isLagging === true,
      isDecided,
    });
  }
}

function parseView(reply: unknown): NodeView {
  const [marker = null, identity = null, , term = null] = reply as (string | null)[];
  return { marker, identity, isUsedAlone: marker === null && term !== null };
}
