import { OutcomeUnknownError, RecordCorruptError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { Backoff } from '../../time/index.js';
import type { StoredDocument, WriteDocumentResult } from '../contract.js';
import { badDocument } from '../redis/index.js';
import { noMajority, unknownBecauseOf } from './errors.js';
import { type Answered, answersOf, type Votes } from './majority.js';
import { ballotForm } from './merge/memories.js';
import type { Deadline, Quorum } from './quorum.js';
import {
  acceptDocumentScript,
  documentTextScript,
  lookAtDocumentScript,
  promiseDocumentScript,
} from './scripts/documents.js';

/** What a node has accepted, and what it has promised. */
interface Accepted {
  /** Empty: nothing was ever accepted. */
  readonly ballot: string;
  readonly version: number;
  /** Which write it was. */
  readonly nonce: string;
  readonly promised: string;
}

/** What to write in place of what stands there; `undefined`: leave it. */
type Change = (current: Accepted) => { version: number; nonce: string; text: string } | undefined;

/**
 * Small versioned texts that a majority agrees on.
 *
 * A write is a round of two steps, as in Paxos with a register: a majority promises to accept nothing older and tells what
 * it has accepted; then it accepts the next version. What a minority had accepted before is written by whoever meets it,
 * so no two texts of one version are ever answered. Who is outbid tries again, a moment later.
 */
export class Documents {
  readonly #quorum: Quorum;
  readonly #nodeTimeoutMs: number;

  constructor(quorum: Quorum, nodeTimeoutMs: number) {
    this.#quorum = quorum;
    this.#nodeTimeoutMs = nodeTimeoutMs;
  }

  async read(name: string, timeoutMs: number): Promise<StoredDocument | undefined> {
    const deadline = this.#quorum.deadlineIn(timeoutMs);
    const votes = await this.#look(name, deadline);
    const agreed = this.#agreedIn(answersOf(votes));
    const current = agreed ?? (await this.#change(name, () => undefined, deadline, false));
    return this.#withText(name, current, deadline);
  }

  async write(
    name: string,
    text: string,
    expectedVersion: number,
    timeoutMs: number,
  ): Promise<WriteDocumentResult> {
    const deadline = this.#quorum.deadlineIn(timeoutMs);
    const nonce = this.#quorum.runtime.randomHex(16);
    const version = expectedVersion + 1;
    let isSent = false;
    const change: Change = (current) => {
      if (current.version !== expectedVersion || current.nonce === nonce) return undefined;
      isSent = true;
      return { version, nonce, text };
    };
    const standing = await this.#change(name, change, deadline, true).catch((error: Error) => {
      throw isSent && !(error instanceof RecordCorruptError) ? unknownBecauseOf(error) : error;
    });
    if (standing.nonce === nonce) return { outcome: 'written', version };
    // A minority had it, so somebody else may have brought it to a majority, and written the next one after it.
    if (isSent && standing.version !== version)
      throw new OutcomeUnknownError(
        `document "${name}" is at version ${standing.version} by now: version ${version} may have been this one. Read it, and decide anew.`,
      );
    return { outcome: 'conflict', current: await this.#withText(name, standing, deadline) };
  }

  /** @returns what a majority has accepted in the end. @throws whether or not a change was sent before. */
  async #change(
    name: string,
    change: Change,
    deadline: Deadline,
    isWrite: boolean,
  ): Promise<Accepted> {
    const { runtime } = this.#quorum;
    const backoff = new Backoff(runtime, { firstMs: 6, limitMs: 60 });
    let highest = '';
    for (;;) {
      const ballot = nextBallot(highest, runtime.randomHex(ballotForm.random / 2));
      const promises = answersOf(await this.#promise(name, ballot, deadline, isWrite));
      highest = promises.reduce((most, { answer }) => max(most, answer.promised), ballot);
      const given = promises.filter(({ answer }) => answer.promised === ballot);
      if (given.length >= this.#quorum.majority) {
        const current = latestOf(given);
        const next = change(current);
        if (next === undefined && this.#agreedIn(given) !== undefined) return current;
        const text = next?.text ?? (await this.#textOf(name, current, deadline));
        if (text !== undefined) {
          const { version, nonce } = next ?? current;
          const accepted = { ballot, version, nonce, promised: ballot };
          if (await this.#accept(name, accepted, text, deadline, isWrite)) return accepted;
        }
      }
      const pauseMs = backoff.nextMs();
      if (this.#quorum.leftMs(deadline) <= pauseMs || this.#quorum.isClosed) break;
      await this.#quorum.pause(pauseMs);
    }
    throw unreachable(
      'timeout',
      `no majority agreed on document "${name}" in time: others write it, or too few nodes answer. Read it, and try again.`,
    );
  }

  /** What a majority has accepted under one ballot stays. */
  #agreedIn(answers: readonly Answered<Accepted>[]): Accepted | undefined {
    const latest = latestOf(answers);
    const count = answers.filter(({ answer }) => answer.ballot === latest.ballot).length;
    return count >= this.#quorum.majority ? latest : undefined;
  }

  async #look(name: string, deadline: Deadline): Promise<Votes<Accepted>> {
    const { majority, addresses } = this.#quorum;
    const votes = await this.#quorum.ask<Accepted>(
      {
        script: lookAtDocumentScript,
        isRead: true,
        call: { keys: [this.#keyOf(name)], args: [] },
        parse: (reply) => this.#parse(name, reply),
        isDecided: (soFar) => this.#agreedIn(answersOf(soFar)) !== undefined,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      deadline,
    );
    if (answersOf(votes).length < majority)
      throw noMajority('readDocument', votes, addresses, true);
    return votes;
  }

  async #promise(
    name: string,
    ballot: string,
    deadline: Deadline,
    isWrite: boolean,
  ): Promise<Votes<Accepted>> {
    const { majority, addresses } = this.#quorum;
    const votes = await this.#quorum.ask<Accepted>(
      {
        script: promiseDocumentScript,
        isRead: !isWrite,
        call: { keys: [this.#keyOf(name)], args: [ballot] },
        parse: (reply) => this.#parse(name, reply),
        isDecided: (soFar) =>
          answersOf(soFar).filter(({ answer }) => answer.promised === ballot).length >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      deadline,
    );
    const what = isWrite ? 'writeDocument' : 'readDocument';
    if (answersOf(votes).length < majority) throw noMajority(what, votes, addresses, !isWrite);
    return votes;
  }

  async #accept(
    name: string,
    { ballot, version, nonce }: Accepted,
    text: string,
    deadline: Deadline,
    isWrite: boolean,
  ): Promise<boolean> {
    const { majority, addresses } = this.#quorum;
    const acceptedIn = (votes: Votes<boolean>) =>
      answersOf(votes).filter(({ answer }) => answer).length;
    const votes = await this.#quorum.ask<boolean>(
      {
        script: acceptDocumentScript,
        // Who reads brings to a majority what was accepted before: the same, whoever does it.
        isRead: !isWrite,
        call: { keys: [this.#keyOf(name)], args: [ballot, version, nonce, text] },
        parse: (reply) => {
          if (reply === 'corrupt') throw badDocument(name, this.#keyOf(name));
          return reply === 'accepted';
        },
        isDecided: (soFar) => acceptedIn(soFar) >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      deadline,
    );
    const what = isWrite ? 'writeDocument' : 'readDocument';
    if (answersOf(votes).length < majority) throw noMajority(what, votes, addresses, !isWrite);
    return acceptedIn(votes) >= majority;
  }

  async #withText(
    name: string,
    accepted: Accepted,
    deadline: Deadline,
  ): Promise<StoredDocument | undefined> {
    if (accepted.version === 0) return undefined;
    const text = await this.#textOf(name, accepted, deadline);
    if (text !== undefined) return { version: accepted.version, text };
    // Another version was accepted meanwhile.
    return this.read(name, this.#quorum.leftMs(deadline));
  }

  /** From whichever node is first to have it; all that have it have the same. */
  async #textOf(
    name: string,
    { ballot, version }: Accepted,
    deadline: Deadline,
  ): Promise<string | undefined> {
    if (version === 0) return '';
    for (const { number } of inTurn(this.#quorum.nodes)) {
      const timeoutMs = Math.min(this.#nodeTimeoutMs, this.#quorum.leftMs(deadline));
      if (timeoutMs <= 0) throw unreachable('timeout', `document "${name}" had no answer in time`);
      const call = { keys: [this.#keyOf(name)], args: [ballot] };
      const vote = await this.#quorum.askOne(number, documentTextScript, call, timeoutMs);
      if (vote.kind === 'answered' && typeof vote.answer === 'string') return vote.answer;
    }
    return undefined;
  }

  #keyOf(name: string): string {
    return this.#quorum.keys.document(name);
  }

  #parse(name: string, reply: unknown): Accepted {
    if (reply === 'corrupt') throw badDocument(name, this.#keyOf(name));
    const [ballot = '', version, nonce = '', promised = ''] = reply as string[];
    return { ballot, version: Number(version), nonce, promised };
  }
}

/** Who answered last comes last. */
function inTurn<Node extends { readonly isLagging: boolean }>(nodes: readonly Node[]): Node[] {
  return [...nodes.filter((node) => !node.isLagging), ...nodes.filter((node) => node.isLagging)];
}

function latestOf(answers: readonly Answered<Accepted>[]): Accepted {
  const none = { ballot: '', version: 0, nonce: '', promised: '' };
  return answers.reduce<Accepted>(
    (latest, { answer }) => (answer.ballot > latest.ballot ? answer : latest),
    none,
  );
}

/** A number, and a random part that makes it nobody else's. */
function nextBallot(highest: string, random: string): string {
  const number = Number(highest.split('.')[0] ?? 0) + 1;
  return `${String(number).padStart(ballotForm.digits, '0')}.${random}`;
}

function max(one: string, other: string): string {
  return one > other ? one : other;
}
