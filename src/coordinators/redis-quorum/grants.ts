import type { ScriptCall } from '../../drivers/redis/index.js';
import { OutcomeUnknownError, type TenureError, UnreachableError } from '../../errors/index.js';
import { Backoff, sleep } from '../../time/index.js';
import type { AcquireRequest, AcquireResult } from '../contract.js';
import { historyLifeMs } from '../history.js';
import type { LeaseRecord } from '../record.js';
import {
  acquireCall,
  acquireScript,
  answerAcquire,
  endCall,
  endScript,
  locate,
  whole,
} from '../redis/index.js';
import { type ClaimVerdict, type Evidence, judgeClaim } from './claims.js';
import { isTooLate, noMajority, unknownBecauseOf } from './errors.js';
import { claimMs, validityMs } from './limits.js';
import { answersOf, type Votes } from './majority.js';
import { claimMetadata } from './merge/memories.js';
import type { Deadline, Question, Quorum } from './quorum.js';
import { confirmScript } from './scripts/confirm.js';
import { settleScript } from './scripts/settle.js';
import { takeBackScript } from './scripts/take-back.js';

export interface GrantReports {
  corrupt(name: string, detail: string): void;
  repaired(name: string): void;
  /** A node takes a name for suspended, and a majority does not. */
  loneSuspension(name: string): void;
}

type Confirmation = 'confirmed' | 'adopted' | 'suspended' | 'taken';

/** How often who comes first keeps its claims and asks again, before it gives way like the others. */
const firstPatienceCount = 4;
/** Another round begins if there is time for the pause before it and so much more than the last one took. */
const roundsToSpare = 1.5;
const shortestRoundMs = 10;

const noConfirmation =
  'a majority of the nodes gave a claim, and its confirmation had no answer from a majority in time: the acquisition may or may not be in force. Release it.';
const noDecision =
  'no majority of the nodes gave a claim in time, and it was taken back: others contend for the name, or too few nodes answer. Try again.';

/**
 * Grants in two steps. A *claim* at each node, in that node's own term, keeps others from the name for a moment. If a
 * majority gave it, the highest of their terms is written back to all, and counts once a majority has it: from then on
 * no majority grants a lower one.
 *
 * Claims that did not become a lease are taken back at every node. If several contend and nobody has a majority, all but
 * the first of them (see `claims.ts`) give way at once and come again a moment later.
 */
export class Grants {
  readonly #quorum: Quorum;
  readonly #reports: GrantReports;

  constructor(quorum: Quorum, reports: GrantReports) {
    this.#quorum = quorum;
    this.#reports = reports;
  }

  async acquire(
    requests: readonly AcquireRequest[],
    timeoutMs: number,
    nodeTimeoutMs: number,
  ): Promise<AcquireResult[]> {
    const attempt = new Acquisition(
      this.#quorum,
      this.#reports,
      requests,
      timeoutMs,
      nodeTimeoutMs,
    );
    await attempt.run();
    return attempt.results;
  }
}

/** One call of `acquire`, over all its rounds. */
class Acquisition {
  readonly #quorum: Quorum;
  readonly #reports: GrantReports;
  readonly #requests: readonly AcquireRequest[];
  readonly #deadline: Deadline;
  readonly #timeoutMs: number;
  readonly #nodeTimeoutMs: number;
  readonly #startedAtMs: number;
  readonly #backoff: Backoff;
  readonly #results = new Map<AcquireRequest, AcquireResult>();
  /** What stood in the way last, for those that are not decided at the end. */
  readonly #evidence = new Map<AcquireRequest, Evidence>();
  /** Whether claims were taken back in the last round. */
  #gaveWay = false;
  /** Whether something may be left of what was sent, and nobody knows. */
  #isInDoubt = false;

  constructor(
    quorum: Quorum,
    reports: GrantReports,
    requests: readonly AcquireRequest[],
    timeoutMs: number,
    nodeTimeoutMs: number,
  ) {
    this.#quorum = quorum;
    this.#reports = reports;
    this.#requests = requests;
    this.#timeoutMs = timeoutMs;
    this.#nodeTimeoutMs = nodeTimeoutMs;
    this.#startedAtMs = quorum.nowMs();
    this.#deadline = quorum.deadlineIn(timeoutMs);
    this.#backoff = new Backoff(quorum.runtime, { firstMs: 4, limitMs: 60 });
  }

  get results(): AcquireResult[] {
    return this.#requests.map(
      (request) =>
        this.#results.get(request) ?? {
          outcome: 'held',
          current: this.#evidence.get(request)?.current as LeaseRecord,
        },
    );
  }

  async run(): Promise<void> {
    for (let round = 1; ; round += 1) {
      const open = this.#requests.filter((request) => !this.#results.has(request));
      const roundAtMs = this.#quorum.nowMs();
      const failure = await this.#round(open, round % firstPatienceCount !== 0).catch(
        (error: TenureError) => error,
      );
      if (this.#results.size === this.#requests.length) return;
      if (failure !== undefined && !mayPass(failure)) return this.#giveUp(failure);
      const tookMs = this.#quorum.nowMs() - roundAtMs;
      const pauseMs = this.#pauseAfter(tookMs);
      const neededMs = pauseMs + Math.max(shortestRoundMs, tookMs * roundsToSpare);
      if (this.#quorum.leftMs(this.#deadline) <= neededMs || this.#quorum.isClosed)
        return this.#giveUp(failure);
      await this.#quorum.pause(pauseMs);
    }
  }

  /** What was not decided in time is held, as far as anybody knows; or nobody can say. */
  async #giveUp(failure: TenureError | undefined): Promise<void> {
    const rest = this.#requests.filter((request) => !this.#results.has(request));
    if (failure === undefined) {
      await Promise.all([this.#takeBack(rest), this.#settle(rest)]);
      if (rest.every((request) => this.#evidence.has(request))) return;
    }
    const isGranted = [...this.#results.values()].some(({ outcome }) => outcome === 'granted');
    const isInDoubt = this.#isInDoubt || isGranted;
    this.#quorum.throwIfClosedUnless(isInDoubt);
    const error = failure ?? new OutcomeUnknownError(noDecision);
    throw isInDoubt ? unknownBecauseOf(error) : error;
  }

  /** Who gave way leaves the others the time in which their next claims arrive: as long as a round takes, and a share more. */
  #pauseAfter(tookMs: number): number {
    const pauseMs = this.#backoff.nextMs();
    if (!this.#gaveWay) return pauseMs;
    return Math.max(pauseMs, tookMs * (1 + this.#quorum.runtime.random()));
  }

  /** @returns what to say if there is no time for another one, because too few nodes answered. */
  async #round(
    open: readonly AcquireRequest[],
    isPatient: boolean,
  ): Promise<TenureError | undefined> {
    const claimed = await this.#claim(open);
    if (answersOf(claimed).length < this.#quorum.majority) return this.#tooFew(open, claimed);
    const won = new Map<AcquireRequest, number>();
    const given: AcquireRequest[] = [];
    for (const [index, request] of open.entries()) {
      const verdict = this.#judge(request, index, claimed, false);
      if (verdict.kind === 'won') won.set(request, verdict.term);
      else if (verdict.kind !== 'split' || !verdict.isFirst || !isPatient) given.push(request);
      this.#note(request, verdict);
      this.#noteSuspensions(request, index, claimed, verdict);
    }
    this.#gaveWay = given.length > 0;
    // Not awaited: it goes ahead of everything that follows on the same connections.
    const takingBack = given.length > 0 ? this.#takeBack(given) : undefined;
    takingBack?.catch(() => undefined);
    const isSettled = won.size === 0 || (await this.#confirm(won));
    await takingBack;
    if (isSettled) return undefined;
    this.#isInDoubt = true;
    return new OutcomeUnknownError(noConfirmation);
  }

  #note(request: AcquireRequest, verdict: ClaimVerdict): void {
    if (verdict.kind === 'held')
      this.#results.set(request, { outcome: 'held', current: verdict.current });
    if (verdict.kind === 'corrupt') {
      this.#results.set(request, { outcome: 'corrupt', detail: verdict.detail });
      this.#reports.corrupt(request.name, verdict.detail);
    }
    if (verdict.kind === 'split' && verdict.current !== undefined)
      this.#evidence.set(request, verdict);
  }

  #noteSuspensions(
    { name }: AcquireRequest,
    index: number,
    votes: Votes<AcquireResult[]>,
    verdict: ClaimVerdict,
  ): void {
    if (verdict.kind === 'held' && verdict.current.state === 'suspended') return;
    const isLone = answersOf(votes).some(({ answer }) => {
      const result = answer[index];
      return result?.outcome === 'held' && result.current.state === 'suspended';
    });
    if (isLone) this.#reports.loneSuspension(name);
  }

  /** What each node says to each request. */
  #claim(open: readonly AcquireRequest[]): Promise<Votes<AcquireResult[]>> {
    const { keys } = this.#quorum;
    const claims = open.map((request) => ({
      ...request,
      ttlMs: claimMs(request.ttlMs, this.#timeoutMs),
      metadata: claimMetadata,
      graceMs: 0,
      keepHistory: false,
    }));
    return this.#quorum.ask<AcquireResult[]>(
      {
        script: acquireScript,
        call: acquireCall(keys, claims),
        parse: (reply) =>
          answerAcquire(keys, open, reply).map(({ result, repaired }, index) => {
            if (repaired) this.#reports.repaired(open[index]?.name ?? '');
            return result;
          }),
        isDecided: (soFar) =>
          open.every((request, index) => this.#judge(request, index, soFar, true).kind !== 'open'),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#deadline,
    );
  }

  /** What too few nodes gave is taken back; then it was not executed, after all. */
  async #tooFew(
    open: readonly AcquireRequest[],
    votes: Votes<AcquireResult[]>,
  ): Promise<TenureError | undefined> {
    const isUnknown = votes.some(
      (vote) => vote.kind === 'pending' || (vote.kind === 'failed' && vote.executed === 'unknown'),
    );
    const lateCount = votes.filter(
      (vote) => vote.kind === 'failed' && isTooLate(vote.error),
    ).length;
    if (lateCount >= this.#quorum.majority && !isUnknown && !this.#isInDoubt) {
      for (const request of open) this.#results.set(request, { outcome: 'too-late' });
      return undefined;
    }
    if (isUnknown) this.#isInDoubt = true;
    const given = open.filter((_, index) =>
      answersOf(votes).some(({ answer }) => answer[index]?.outcome === 'granted'),
    );
    // Who heard nothing at all asks again with the same attempt, or releases it; and claims end by themselves.
    const isHeard = answersOf(votes).length > 0;
    const ended = isHeard ? await this.#takeBack(isUnknown ? open : given) : undefined;
    const isLeft = votes.some(
      (vote, node) => vote.kind === 'answered' && ended?.[node]?.kind !== 'answered',
    );
    if (given.length > 0 && isLeft) this.#isInDoubt = true;
    return noMajority('acquire', votes, this.#quorum.addresses, !this.#isInDoubt);
  }

  /** While some are `awaited`, what they may still say keeps a verdict open. */
  #judge(
    request: AcquireRequest,
    index: number,
    votes: Votes<AcquireResult[]>,
    isAwaited: boolean,
  ): ClaimVerdict {
    const results = answersOf(votes).map(({ answer }) => answer[index] as AcquireResult);
    const { majority, nodes } = this.#quorum;
    const pendingCount = votes.filter(({ kind }) => kind === 'pending').length;
    const grantedCount = results.filter(({ outcome }) => outcome === 'granted').length;
    const mayWin = grantedCount < majority && grantedCount + pendingCount >= majority;
    if (isAwaited && mayWin) return { kind: 'open' };
    return judgeClaim(request, results, {
      majority,
      silentCount: nodes.length - results.length,
    });
  }

  /** @returns whether all are in force, or certainly not. */
  async #confirm(won: ReadonlyMap<AcquireRequest, number>): Promise<boolean> {
    const byTerm = new Map<number, AcquireRequest[]>();
    for (const [request, term] of won) byTerm.set(term, [...(byTerm.get(term) ?? []), request]);
    const groups = await Promise.all(
      // Without an answer for all of them there may be one for some.
      [...byTerm].map(([term, requests]) => this.#confirmIn(term, requests).catch(() => false)),
    );
    return groups.every((isSettled) => isSettled);
  }

  async #confirmIn(term: number, requests: readonly AcquireRequest[]): Promise<boolean> {
    const { majority, nodes } = this.#quorum;
    const countOf = (votes: Votes<Confirmation[]>, index: number) =>
      answersOf(votes).filter(({ answer }) => answer[index] === 'confirmed').length;
    const votes = await this.#quorum.ask<Confirmation[]>(
      {
        script: confirmScript,
        call: this.#confirmCall(term, requests),
        parse: (reply) => reply as Confirmation[],
        isDecided: (soFar) =>
          requests.every((_, index) => {
            const count = countOf(soFar, index);
            const pending = soFar.filter(({ kind }) => kind === 'pending').length;
            return count >= majority || count + pending < majority;
          }),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#deadline,
    );
    const elapsedMs = this.#quorum.nowMs() - this.#startedAtMs;
    const silentCount = nodes.length - answersOf(votes).length;
    const failed: AcquireRequest[] = [];
    let isSettled = true;
    for (const [index, request] of requests.entries()) {
      const count = countOf(votes, index);
      const isValid = validityMs(request.ttlMs, elapsedMs) > 0;
      if (count >= majority && isValid) this.#results.set(request, { outcome: 'granted', term });
      else failed.push(request);
      if (count < majority && count + silentCount >= majority) isSettled = false;
      if (count >= majority && !isValid) isSettled = false;
    }
    // What a majority may have confirmed is for the caller to release: it may be in force since an earlier call.
    if (failed.length > 0 && isSettled) await this.#release(failed);
    return isSettled;
  }

  #confirmCall(term: number, requests: readonly AcquireRequest[]): ScriptCall {
    const { keys } = this.#quorum;
    const { places, indexes, groups, numbers } = locate(keys, requests);
    return {
      keys: [
        keys.term,
        keys.suspended,
        ...places.map(({ lease }) => lease),
        ...places.map(({ history }) => history),
        ...indexes,
      ],
      args: [
        requests.length,
        term,
        this.#quorum.stampMs(),
        ...groups.map((group) => keys.wake(group)),
        ...requests.flatMap((request, index) => [
          request.holder.wire,
          request.attempt,
          whole(request.ttlMs),
          request.metadata ?? '',
          request.name,
          numbers[index] ?? 0,
          whole(request.graceMs ?? 0),
          request.keepHistory === true ? historyLifeMs : 0,
        ]),
      ],
    };
  }

  /** The claims alone, at every node, those that did not answer included. Never rejects: what is left ends by itself. */
  #takeBack(requests: readonly AcquireRequest[]): Promise<Votes<true> | undefined> {
    const { places, indexes, numbers } = locate(this.#quorum.keys, requests);
    return this.#tellAll({
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
  async #settle(rest: readonly AcquireRequest[]): Promise<void> {
    const foreseen = rest.flatMap(({ name }, index) => {
      const evidence = this.#evidence.get(rest[index] as AcquireRequest);
      if (evidence?.isForeseen !== true || evidence.current?.state !== 'held') return [];
      const { holder, leaseId, term } = evidence.current;
      return [{ lease: this.#quorum.keys.place(name).lease, args: [holder.wire, leaseId, term] }];
    });
    if (foreseen.length === 0) return;
    await this.#tellAll({
      script: settleScript,
      call: {
        keys: [this.#quorum.keys.term, ...foreseen.map(({ lease }) => lease)],
        args: [foreseen.length, ...foreseen.flatMap(({ args }) => args)],
      },
    });
  }

  /** What was confirmed at too few nodes to be a lease. */
  #release(requests: readonly AcquireRequest[]): Promise<Votes<true> | undefined> {
    const releases = requests.map(({ name, holder, attempt }) => ({ name, holder, attempt }));
    return this.#tellAll({ script: endScript, call: endCall(this.#quorum.keys, releases) });
  }

  /** It goes on for its own time; the call does not wait for it longer than it may. */
  async #tellAll(
    question: Pick<Question<true>, 'script' | 'call'>,
  ): Promise<Votes<true> | undefined> {
    const { majority, runtime } = this.#quorum;
    const waiting = new AbortController();
    const asking = this.#quorum.ask<true>(
      {
        ...question,
        parse: () => true,
        isDecided: (votes) => answersOf(votes).length >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(this.#nodeTimeoutMs),
    );
    const leftMs = Math.max(0, this.#quorum.leftMs(this.#deadline));
    const timeout = sleep(runtime, leftMs, waiting.signal).then(() => undefined);
    try {
      return await Promise.race([asking, timeout]);
    } catch {
      return undefined;
    } finally {
      waiting.abort();
    }
  }
}

/** What was refused is refused the next moment, too. */
function mayPass(failure: TenureError): boolean {
  return failure instanceof UnreachableError || failure instanceof OutcomeUnknownError;
}
