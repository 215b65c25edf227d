import { OutcomeUnknownError, type TenureError, UnreachableError } from '../../../errors/index.js';
import { Backoff } from '../../../time/index.js';
import type { AcquireRequest, AcquireResult } from '../../contract.js';
import type { LeaseRecord } from '../../record.js';
import { isTooLate, noMajority, unknownBecauseOf } from '../errors.js';
import { answersOf, type Votes } from '../majority.js';
import type { Quorum } from '../quorum.js';
import type { AcquireCall } from './call.js';
import { Claims } from './claims.js';
import { confirm, type Won } from './confirmation.js';
import type { ClaimVerdict, Evidence } from './verdict.js';

export interface GrantReports {
  corrupt(name: string, detail: string): void;
  repaired(name: string): void;
  /** A node takes a name for suspended, and a majority does not. */
  loneSuspension(name: string): void;
}

/** How often who comes first keeps its claims and asks again, before it gives way like the others. */
const firstPatienceCount = 4;
/** Another round begins if there is time for the pause before it and so much more than the last one took. */
const roundsToSpare = 1.5;
const shortestRoundMs = 10;

const noConfirmation =
  'a majority of the nodes gave a claim, and its confirmation had no answer from a majority in time: the acquisition may or may not be in force. Release it.';
const noDecision =
  'no majority of the nodes gave a claim in time, and it was taken back: others contend for the name, or too few nodes answer. Try again.';

/** One call of `acquire`, over all its rounds. */
export class Acquisition {
  readonly #quorum: Quorum;
  readonly #reports: GrantReports;
  readonly #requests: readonly AcquireRequest[];
  readonly #call: AcquireCall;
  readonly #claims: Claims;
  readonly #backoff: Backoff;
  readonly #results = new Map<AcquireRequest, AcquireResult>();
  /** What stood in the way last, for those that are not decided at the end. */
  readonly #evidence = new Map<AcquireRequest, Evidence>();
  /** Whether claims were taken back in the last round. */
  #gaveWay = false;
  /** Whether something may be left of what was sent, and nobody knows. */
  #isInDoubt = false;

  constructor(call: AcquireCall, reports: GrantReports, requests: readonly AcquireRequest[]) {
    this.#quorum = call.quorum;
    this.#call = call;
    this.#reports = reports;
    this.#requests = requests;
    this.#claims = new Claims(call, (name) => reports.repaired(name));
    this.#backoff = new Backoff(call.quorum.runtime, { firstMs: 4, limitMs: 60 });
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
      if (this.#quorum.leftMs(this.#call.deadline) <= neededMs || this.#quorum.isClosed)
        return this.#giveUp(failure);
      await this.#quorum.pause(pauseMs);
    }
  }

  /** What was not decided in time is held, as far as anybody knows; or nobody can say. */
  async #giveUp(failure: TenureError | undefined): Promise<void> {
    const rest = this.#requests.filter((request) => !this.#results.has(request));
    if (failure === undefined) {
      const evidence = rest.flatMap((request) => this.#evidence.get(request) ?? []);
      await Promise.all([this.#claims.takeBack(rest), this.#claims.settle(evidence)]);
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
    const claimed = await this.#claims.ask(open);
    if (answersOf(claimed).length < this.#quorum.majority) return this.#tooFew(open, claimed);
    const won = new Map<AcquireRequest, number>();
    const given: AcquireRequest[] = [];
    for (const [index, request] of open.entries()) {
      const verdict = this.#claims.judge(request, index, claimed);
      if (verdict.kind === 'won') won.set(request, verdict.term);
      else if (verdict.kind !== 'split' || !verdict.isFirst || !isPatient) given.push(request);
      this.#note(request, verdict);
      this.#noteSuspensions(request, index, claimed, verdict);
    }
    this.#gaveWay = given.length > 0;
    // Not awaited: it goes ahead of everything that follows on the same connections.
    const takingBack = given.length > 0 ? this.#claims.takeBack(given) : undefined;
    takingBack?.catch(() => undefined);
    const isSettled = won.size === 0 || (await this.#confirm(won));
    await takingBack;
    if (isSettled) return undefined;
    this.#isInDoubt = true;
    return new OutcomeUnknownError(noConfirmation);
  }

  /** @returns whether all are in force, or certainly not. */
  async #confirm(won: Won): Promise<boolean> {
    const { granted, isSettled } = await confirm(this.#call, won);
    for (const [request, term] of granted) this.#results.set(request, { outcome: 'granted', term });
    return isSettled;
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
    const ended = isHeard ? await this.#claims.takeBack(isUnknown ? open : given) : undefined;
    const isLeft = votes.some(
      (vote, node) => vote.kind === 'answered' && ended?.[node]?.kind !== 'answered',
    );
    if (given.length > 0 && isLeft) this.#isInDoubt = true;
    return noMajority('acquire', votes, this.#quorum.addresses, !this.#isInDoubt);
  }
}

/** What was refused is refused the next moment, too. */
function mayPass(failure: TenureError): boolean {
  return failure instanceof UnreachableError || failure instanceof OutcomeUnknownError;
}
