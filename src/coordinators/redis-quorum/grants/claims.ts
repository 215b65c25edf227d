import type { AcquireRequest, AcquireResult } from '../../contract.js';
import { acquireCall, acquireScript, answerAcquire, locate } from '../../redis/index.js';
import { claimMs } from '../limits.js';
import { answersOf, type Votes } from '../majority.js';
import { claimMetadata } from '../merge/memories.js';
import { settleScript } from '../scripts/settle.js';
import { takeBackScript } from '../scripts/take-back.js';
import { type AcquireCall, tellAll } from './call.js';
import { type ClaimVerdict, type Evidence, judgeClaim } from './verdict.js';

/** The first step: what keeps others from a name for a moment. */
export class Claims {
  readonly #call: AcquireCall;
  readonly #onRepaired: (name: string) => void;

  constructor(call: AcquireCall, onRepaired: (name: string) => void) {
    this.#call = call;
    this.#onRepaired = onRepaired;
  }

  /** What each node says to each request. */
  ask(open: readonly AcquireRequest[]): Promise<Votes<AcquireResult[]>> {
    const { quorum, timeoutMs, nodeTimeoutMs, deadline } = this.#call;
    const claims = open.map((request) => ({
      ...request,
      ttlMs: claimMs(request.ttlMs, timeoutMs),
      metadata: claimMetadata,
      graceMs: 0,
      keepHistory: false,
    }));
    return quorum.ask<AcquireResult[]>(
      {
        script: acquireScript,
        call: acquireCall(quorum.keys, claims),
        parse: (reply) =>
          answerAcquire(quorum.keys, open, reply).map(({ result, repaired }, index) => {
            if (repaired) this.#onRepaired(open[index]?.name ?? '');
            return result;
          }),
        isDecided: (soFar) =>
          open.every(
            (request, index) =>
              !this.#mayWin(index, soFar) && this.judge(request, index, soFar).kind !== 'open',
          ),
        nodeTimeoutMs,
      },
      deadline,
    );
  }

  /** Those who have not answered yet may make it a majority. */
  #mayWin(index: number, votes: Votes<AcquireResult[]>): boolean {
    const { majority } = this.#call.quorum;
    const pendingCount = votes.filter(({ kind }) => kind === 'pending').length;
    const grantedCount = answersOf(votes).filter(
      ({ answer }) => answer[index]?.outcome === 'granted',
    ).length;
    return grantedCount < majority && grantedCount + pendingCount >= majority;
  }

  judge(request: AcquireRequest, index: number, votes: Votes<AcquireResult[]>): ClaimVerdict {
    const { majority, nodes } = this.#call.quorum;
    const results = answersOf(votes).map(({ answer }) => answer[index] as AcquireResult);
    return judgeClaim(request, results, {
      majority,
      silentCount: nodes.length - results.length,
    });
  }

  /** The claims alone, at every node, those that did not answer included. Never rejects: what is left ends by itself. */
  takeBack(requests: readonly AcquireRequest[]): Promise<Votes<true> | undefined> {
    const { places, indexes, numbers } = locate(this.#call.quorum.keys, requests);
    return tellAll(this.#call, {
      script: takeBackScript,
      call: {
        keys: [...places.map(({ lease }) => lease), ...indexes],
        args: [
          requests.length,
          ...requests.flatMap(({ holder, attempt, name }, index) => [
            holder.wire,
            attempt,
            name,
            numbers[index] ?? 0,
          ]),
        ],
      },
    });
  }

  /** Whoever has a majority and lost its answers is to learn the term that we are about to tell. */
  async settle(evidence: readonly Evidence[]): Promise<void> {
    const { keys } = this.#call.quorum;
    const foreseen = evidence.flatMap(({ isForeseen, current }) => {
      if (!isForeseen || current?.state !== 'held') return [];
      const { name, holder, leaseId, term } = current;
      return [{ lease: keys.place(name).lease, args: [holder.wire, leaseId, term] }];
    });
    if (foreseen.length === 0) return;
    await tellAll(this.#call, {
      script: settleScript,
      call: {
        keys: [keys.term, ...foreseen.map(({ lease }) => lease)],
        args: [foreseen.length, ...foreseen.flatMap(({ args }) => args)],
      },
    });
  }
}
