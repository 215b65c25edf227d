import type { Candidate, EnrollRequest, EnrollResult, WithdrawRequest } from '../candidates.js';
import { compareCandidates } from '../order.js';
import {
  badCandidates,
  candidatesScript,
  describe,
  type EnrollReply,
  parseTable,
  whole,
  withdrawScript,
} from '../redis/index.js';
import { noMajority } from './errors.js';
import { answersOf, type Votes } from './majority.js';
import { mergeCandidates, middleOf } from './merge/candidates.js';
import { areViewsCertain, mergeViews } from './merge/records.js';
import type { Quorum } from './quorum.js';
import { enrollAtScript } from './scripts/enroll.js';

/** Who waits for which name, and who else is there: an entry at every node, so that each can call the first. */
export class Candidates {
  readonly #quorum: Quorum;
  readonly #nodeTimeoutMs: number;
  readonly #onRepaired: (name: string) => void;

  constructor(quorum: Quorum, nodeTimeoutMs: number, onRepaired: (name: string) => void) {
    this.#quorum = quorum;
    this.#nodeTimeoutMs = nodeTimeoutMs;
    this.#onRepaired = onRepaired;
  }

  async enroll(requests: readonly EnrollRequest[], timeoutMs: number): Promise<EnrollResult[]> {
    const { keys, majority, addresses } = this.#quorum;
    const places = requests.map(({ name }) => keys.place(name));
    const entries = requests.flatMap((request) => [
      request.name,
      request.holder.digest,
      request.holder.id,
      request.standing,
      request.preference,
      whole(request.ttlMs),
      request.metadata ?? '',
    ]);
    const votes = await this.#quorum.ask<EnrollResult[]>(
      {
        script: enrollAtScript,
        call: {
          keys: [
            keys.suspended,
            ...places.map(({ lease }) => lease),
            ...places.map(({ queue }) => queue),
            ...places.map(({ candidates }) => candidates),
          ],
          args: [requests.length, ...entries, this.#quorum.stampMs()],
        },
        parse: (reply) => this.#enrolled(requests, reply),
        isDecided: (soFar) =>
          answersOf(soFar).length >= majority &&
          requests.every((_, index) => areViewsCertain(viewsAt(soFar, index), this.#quota(soFar))),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    if (answersOf(votes).length < majority) throw noMajority('enroll', votes, addresses, false);
    return requests.map((_, index) => this.#mergeEnrollment(votes, index));
  }

  #enrolled(requests: readonly EnrollRequest[], reply: unknown): EnrollResult[] {
    const { keys } = this.#quorum;
    const [now, results] = reply as [string, EnrollReply[] | number];
    if (typeof results === 'number') {
      const name = requests[results - 1]?.name ?? '';
      throw badCandidates(name, keys.place(name).candidates);
    }
    return results.map((one, index) => {
      const { name } = requests[index] as EnrollRequest;
      if (one[5] === 1) this.#onRepaired(name);
      return describe(name, one, Number(now));
    });
  }

  #mergeEnrollment(votes: Votes<EnrollResult[]>, index: number): EnrollResult {
    const results = answersOf(votes).map(({ answer }) => answer[index] as EnrollResult);
    const positions = results.flatMap(({ position }) => position ?? []);
    const duplicateCount = results.filter(({ duplicate }) => duplicate).length;
    return {
      position: positions.length === 0 ? undefined : middleOf(positions),
      current: mergeViews(viewsAt(votes, index), this.#quota(votes)),
      duplicate: duplicateCount >= this.#quorum.majority,
    };
  }

  async withdraw(requests: readonly WithdrawRequest[], timeoutMs: number): Promise<void> {
    const { keys, majority, addresses } = this.#quorum;
    const places = requests.map(({ name }) => keys.place(name));
    const votes = await this.#quorum.ask<true>(
      {
        script: withdrawScript,
        call: {
          keys: [
            ...places.map(({ queue }) => queue),
            ...places.map(({ candidates }) => candidates),
          ],
          args: [requests.length, ...requests.flatMap(({ holder }) => [holder.digest, holder.id])],
        },
        parse: () => true,
        isDecided: (soFar) => answersOf(soFar).length >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    if (answersOf(votes).length < majority) throw noMajority('withdraw', votes, addresses, false);
  }

  async list(name: string, timeoutMs: number): Promise<Candidate[]> {
    const { keys, majority, addresses } = this.#quorum;
    const { queue, candidates } = keys.place(name);
    const votes = await this.#quorum.ask<Candidate[]>(
      {
        script: candidatesScript,
        isRead: true,
        call: { keys: [queue, candidates], args: [] },
        parse: (reply) => {
          if (reply === null) throw badCandidates(name, candidates);
          const [now, fields, digests] = reply as [string, string[], string[]];
          return inOrder(parseTable(fields, Number(now)), digests);
        },
        isDecided: (soFar) => answersOf(soFar).length >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    const lists = answersOf(votes).map(({ answer }) => answer);
    if (lists.length < majority) throw noMajority('candidates', votes, addresses, true);
    return mergeCandidates(lists, this.#quota(votes));
  }

  #quota(votes: Votes<unknown>) {
    const { majority, nodes } = this.#quorum;
    return { majority, silentCount: nodes.length - answersOf(votes).length };
  }
}

function viewsAt(votes: Votes<EnrollResult[]>, index: number) {
  return answersOf(votes).map(({ answer }) => answer[index]?.current);
}

/** Who waits in the order of the node's queue, then the rest. */
function inOrder(candidates: readonly Candidate[], digests: readonly string[]): Candidate[] {
  const places = new Map(digests.map((digest, place) => [digest, place]));
  const ranked = candidates.map((candidate) => {
    const { id, digest, standing } = candidate;
    const since = places.get(digest) ?? places.size;
    return { candidate, rank: { standing, preference: 0, since, id, digest } };
  });
  return ranked
    .sort((one, other) => compareCandidates(one.rank, other.rank))
    .map(({ candidate }) => candidate);
}
