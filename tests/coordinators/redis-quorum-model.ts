import { type AcquireResult, Holder, nextTerm } from '../../src/coordinators/index.js';
import { judgeClaim } from '../../src/coordinators/redis-quorum/grants/verdict.js';
import { majorityOf } from '../../src/coordinators/redis-quorum/majority.js';
import { type Memory, mergeRecords } from '../../src/coordinators/redis-quorum/merge/memories.js';

/** What the model may leave out, to show what it is for. */
export interface Guards {
  /** A node without its memory has no vote. */
  readonly keepsOut: boolean;
  /** It gets it back only when whatever had its vote before has arrived everywhere. */
  readonly waits: boolean;
  /** A grant counts only when a majority has confirmed it, with its term. */
  readonly confirms: boolean;
  /** A vote beside later ones counts only if its node has lost nothing since. */
  readonly checksMemories: boolean;
  /**
   * When a node without a claim is given the lease: with the confirmation, when a majority has confirmed it, or never (as it
   * was for the seeds that are remembered).
   */
  readonly adopts: 'at once' | 'confirmed' | 'never';
}

interface Stored {
  readonly owner: number;
  readonly attempt: string;
  readonly term: number;
  readonly isClaim: boolean;
  /** It was given back to a node without its memory, and names no attempt. */
  readonly isCopy?: boolean;
}

interface Node {
  isMember: boolean;
  /** Another one with each loss. */
  memory: number;
  lastTerm: number;
  record: Stored | undefined;
  /** The number of the last message that was sent before its memory was lost. */
  lostAfter: number;
  seeding: Map<number, { lastTerm: number; record: Stored | undefined }> | undefined;
}

type Kind = 'claim' | 'confirm' | 'adopt' | 'take-back' | 'end';

interface Message {
  readonly number: number;
  readonly from: number;
  readonly node: number;
  readonly kind: Kind;
  readonly attempt: string;
  readonly term: number;
}

interface Client {
  state: 'idle' | 'claiming' | 'confirming' | 'holding';
  attempt: string;
  term: number;
  readonly claims: Map<number, AcquireResult>;
  readonly confirmations: Map<number, boolean>;
  /** Of each node that has voted: the memory that it had then. */
  readonly memories: Map<number, number>;
  /** Whether the same was asked again, so that votes may lie far apart. */
  isAskingAgain: boolean;
}

const holders = Array.from(
  { length: 3 },
  (_, owner) => new Holder(`h${owner}`, String(owner).repeat(32)),
);

/**
 * Five nodes and three contenders for one name, step by step in an order drawn from a seed. Messages of one client to one
 * node stay in order; they and their answers may be lost; nodes of a minority lose their memory and get it back. What its
 * client has given up expires some time; no clock helps with the terms: memory alone decides.
 */
export class QuorumModel {
  readonly #random: () => number;
  readonly #guards: Guards;
  readonly #nodes: Node[];
  readonly #clients: Client[] = holders.map(() => ({
    state: 'idle',
    attempt: '',
    term: 0,
    claims: new Map(),
    confirmations: new Map(),
    memories: new Map(),
    isAskingAgain: false,
  }));
  #flight: Message[] = [];
  #messageCount = 0;
  #attemptCount = 0;
  /** Of each grant its term, in the order of time. */
  readonly terms: number[] = [];
  /** The first moment at which two held the name. */
  overlap: string | undefined;
  /** Of each attempt, how many nodes have confirmed it. */
  readonly #confirmedCounts = new Map<string, number>();
  /** The first moment at which a majority showed a lease that no majority had confirmed. */
  phantom: string | undefined;
  adoptedCount = 0;
  reseededCount = 0;

  constructor(seed: number, guards: Guards) {
    this.#random = randomFrom(seed);
    this.#guards = guards;
    this.#nodes = Array.from({ length: 5 }, () => ({
      isMember: true,
      memory: 0,
      lastTerm: 0,
      record: undefined,
      lostAfter: 0,
      seeding: undefined,
    }));
  }

  run(stepCount: number): void {
    for (let step = 0; step < stepCount; step++) {
      const chance = this.#random();
      if (chance < 0.6) this.#deliver();
      else if (chance < 0.97) this.#act(this.#pick(this.#clients.keys()));
      else this.#lose();
      this.#seedSome();
      this.#expireOne();
    }
  }

  get #majority(): number {
    return majorityOf(this.#nodes.length);
  }

  #pick<Item>(items: Iterable<Item>): Item {
    const all = [...items];
    return all[Math.floor(this.#random() * all.length)] as Item;
  }

  #send(from: number, kind: Kind, nodes: Iterable<number> = this.#nodes.keys()): void {
    const { attempt, term } = this.#clients[from] as Client;
    for (const node of nodes) {
      this.#messageCount += 1;
      if (this.#random() < 0.1) continue;
      this.#flight.push({ number: this.#messageCount, from, node, kind, attempt, term });
    }
  }

  /** The oldest message on one of the ways. */
  #deliver(): void {
    if (this.#flight.length === 0) return;
    const { from, node } = this.#pick(this.#flight);
    const message = this.#flight.find((each) => each.from === from && each.node === node);
    this.#flight = this.#flight.filter((each) => each !== message);
    if (message !== undefined) this.#execute(message);
  }

  #execute({ from, node: number, kind, attempt, term }: Message): void {
    const node = this.#nodes[number] as Node;
    const client = this.#clients[from] as Client;
    if (!node.isMember) return;
    const isHeard = client.attempt === attempt && this.#random() > 0.03;
    const isOwn = node.record?.attempt === attempt;
    if (kind === 'claim') {
      const result = this.#claim(node, from, attempt);
      if (isHeard && client.state === 'claiming') {
        client.claims.set(number, result);
        client.memories.set(number, node.memory);
      }
    } else if (kind === 'confirm') {
      const isVote = isOwn && node.record?.isCopy !== true;
      if (isVote && node.record?.isClaim)
        this.#confirmedCounts.set(attempt, (this.#confirmedCounts.get(attempt) ?? 0) + 1);
      if (isVote) node.record = { owner: from, attempt, term, isClaim: false };
      else if (this.#guards.adopts === 'at once') this.#adopt(node, from, attempt, term);
      node.lastTerm = Math.max(node.lastTerm, term);
      if (isHeard && client.state === 'confirming') {
        client.confirmations.set(number, isVote);
        client.memories.set(number, node.memory);
      }
    } else if (kind === 'adopt') {
      node.lastTerm = Math.max(node.lastTerm, term);
      this.#adopt(node, from, attempt, term);
    } else if (isOwn && (kind === 'end' || node.record?.isClaim)) node.record = undefined;
  }

  #adopt(node: Node, owner: number, attempt: string, term: number): void {
    if (node.record !== undefined) return;
    node.record = { owner, attempt, term, isClaim: false };
    this.adoptedCount += 1;
    const shown = this.#nodes.filter(
      ({ record }) => record?.attempt === attempt && !record.isClaim && !record.isCopy,
    );
    const confirmedCount = this.#confirmedCounts.get(attempt) ?? 0;
    if (shown.length >= this.#majority && confirmedCount < this.#majority)
      this.phantom ??= `${shown.length} show what ${confirmedCount} confirmed`;
  }

  #claim(node: Node, owner: number, attempt: string): AcquireResult {
    if (node.record === undefined) {
      node.lastTerm = nextTerm(node.lastTerm, 0);
      node.record = { owner, attempt, term: node.lastTerm, isClaim: true };
    }
    const { record } = node;
    if (record.attempt === attempt && record.isCopy !== true)
      return { outcome: 'granted', term: record.term };
    return {
      outcome: 'held',
      current: {
        state: 'held',
        name: 'job',
        holder: holders[record.owner] as Holder,
        term: record.term,
        leaseId: record.attempt,
        ttlMs: 1_000,
        remainingMs: 1_000,
        grantedAtMs: 0,
        renewedAtMs: 0,
        metadata: record.isClaim ? 'claim' : undefined,
        graceMs: 0,
        revocation: undefined,
      },
    };
  }

  #act(number: number): void {
    const client = this.#clients[number] as Client;
    if (client.state === 'idle') {
      this.#attemptCount += 1;
      client.attempt = String(this.#attemptCount).padStart(32, '0');
      client.claims.clear();
      client.memories.clear();
      client.isAskingAgain = false;
      client.state = 'claiming';
      this.#send(number, 'claim');
    } else if (this.#askAgain(number, client)) return;
    else if (client.state === 'claiming') this.#decideClaims(number, client);
    else if (client.state === 'confirming') this.#decideConfirmation(number, client);
    else if (this.#random() < 0.3) {
      client.state = 'idle';
      this.#send(number, 'end');
    }
  }

  /** What was lost on its way is sent again, some time. */
  #askAgain(number: number, client: Client): boolean {
    const isClaiming = client.state === 'claiming';
    if (!isClaiming && client.state !== 'confirming') return false;
    const heard = isClaiming ? client.claims : client.confirmations;
    const silent = [...this.#nodes.keys()].filter(
      (node) =>
        !heard.has(node) &&
        !this.#flight.some((message) => message.from === number && message.node === node),
    );
    if (silent.length === 0 || this.#random() < 0.5) return false;
    client.isAskingAgain = true;
    this.#send(number, isClaiming ? 'claim' : 'confirm', silent);
    return true;
  }

  /** Forgets the votes of nodes that have another memory by now. */
  #checkMemories(client: Client): void {
    if (!client.isAskingAgain || !this.#guards.checksMemories) return;
    for (const [node, memory] of client.memories) {
      if (this.#nodes[node]?.memory === memory && this.#nodes[node]?.isMember) continue;
      client.claims.delete(node);
      client.confirmations.delete(node);
    }
  }

  #decideClaims(number: number, client: Client): void {
    this.#checkMemories(client);
    const holder = holders[number] as Holder;
    const verdict = judgeClaim({ attempt: client.attempt, holder }, [...client.claims.values()], {
      majority: this.#majority,
      silentCount: this.#nodes.length - client.claims.size,
    });
    if (verdict.kind === 'won') {
      client.term = verdict.term;
      client.confirmations.clear();
      client.memories.clear();
      client.isAskingAgain = false;
      client.state = 'confirming';
      this.#send(number, 'confirm');
      if (!this.#guards.confirms) this.#grant(number, client);
    } else if (verdict.kind !== 'open' || this.#random() < 0.1) {
      client.state = 'idle';
      this.#send(number, 'take-back');
    }
  }

  #decideConfirmation(number: number, client: Client): void {
    this.#checkMemories(client);
    const answers = [...client.confirmations.values()];
    const count = answers.filter((isConfirmed) => isConfirmed).length;
    if (count >= this.#majority) {
      this.#grant(number, client);
      if (this.#guards.adopts === 'confirmed') this.#bringToOthers(number, client);
    } else if (answers.length - count >= this.#majority || this.#random() < 0.05) {
      client.state = 'idle';
      this.#send(number, 'end');
    }
  }

  #bringToOthers(number: number, client: Client): void {
    const missing = [...client.confirmations].filter(([, isConfirmed]) => !isConfirmed);
    this.#send(
      number,
      'adopt',
      missing.map(([node]) => node),
    );
  }

  #grant(number: number, client: Client): void {
    const other = this.#clients.findIndex(
      ({ state }, index) => state === 'holding' && index !== number,
    );
    if (other >= 0) this.overlap ??= `${other} and ${number} hold the name`;
    client.state = 'holding';
    this.terms.push(client.term);
  }

  #lose(): void {
    const members = [...this.#nodes.keys()].filter((node) => this.#nodes[node]?.isMember);
    if (members.length <= this.#majority) return;
    const node = this.#nodes[this.#pick(members)] as Node;
    node.record = undefined;
    node.lastTerm = 0;
    node.memory += 1;
    node.lostAfter = this.#messageCount;
    node.seeding = new Map();
    node.isMember = !this.#guards.keepsOut;
  }

  #expireOne(): void {
    const node = this.#pick(this.#nodes);
    if (node.record === undefined || this.#random() < 0.7) return;
    const { state, attempt } = this.#clients[node.record.owner] as Client;
    if (state === 'idle' || attempt !== node.record.attempt) node.record = undefined;
  }

  /** One look at one member, for each node that is out; at the end it is one, too. */
  #seedSome(): void {
    for (const node of this.#nodes) {
      const { seeding } = node;
      if (node.isMember || seeding === undefined || this.#random() < 0.7) continue;
      const isUnderWay = this.#flight.some(({ number }) => number <= node.lostAfter);
      if (this.#guards.waits && isUnderWay) continue;
      const sources = [...this.#nodes.keys()].filter(
        (number) => this.#nodes[number]?.isMember && !seeding.has(number),
      );
      if (sources.length > 0) {
        const source = this.#pick(sources);
        const { lastTerm, record } = this.#nodes[source] as Node;
        seeding.set(source, { lastTerm, record });
      }
      if (seeding.size >= this.#majority) this.#finishSeeding(node, [...seeding.values()]);
    }
  }

  #finishSeeding(node: Node, known: readonly Pick<Node, 'lastTerm' | 'record'>[]): void {
    const records = known.flatMap(({ record }) => (record === undefined ? [] : [record]));
    const merged = mergeRecords(records.map(memoryOf));
    const origin = records.find((one) => mergeRecords([memoryOf(one)])?.value === merged?.value);
    const attempt = String(merged?.value).split('|')[6];
    node.record = origin && { ...origin, isCopy: attempt !== origin.attempt };
    node.lastTerm = Math.max(...known.map(({ lastTerm }) => lastTerm));
    node.isMember = true;
    node.seeding = undefined;
    this.reseededCount += 1;
  }
}

function memoryOf({ owner, attempt, term, isClaim }: Stored): Memory {
  const wire = (holders[owner] as Holder).wire;
  const metadata = isClaim ? 'claim' : '';
  const value = `2L|${term}|${wire}|1000|0|0|${attempt}|0|${metadata}`;
  return { key: 'job', kind: 'string', lifeMs: 1_000, value };
}

/** A small generator of random numbers (mulberry32): the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
