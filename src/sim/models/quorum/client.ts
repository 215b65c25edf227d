import type { Call } from '../../../coordinators/candidates.js';
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  CoordinatorPromises,
  RenewRequest,
  RenewResult,
} from '../../../coordinators/contract.js';
import type { Holder } from '../../../coordinators/holder.js';
import { memoryPromises } from '../../../coordinators/memory/promises.js';
import { judgeClaim } from '../../../coordinators/redis-quorum/grants/verdict.js';
import { claimMs } from '../../../coordinators/redis-quorum/limits.js';
import { answersOf } from '../../../coordinators/redis-quorum/majority.js';
import { claimMetadata } from '../../../coordinators/redis-quorum/merge/memories.js';
import { checkAcquires, copies } from '../../../coordinators/requests.js';
import {
  LedgerCoordinator,
  type LedgerStep,
} from '../../../coordinators/rules/ledger-coordinator.js';
import { acquireAll } from '../../../coordinators/rules/operations.js';
import type { Unsubscribe } from '../../../events/index.js';
import { merges } from './merges.js';
import { adoptOne, confirmOne, takeBackOne } from './node.js';
import { undecided, type Votes, type Voting } from './voting.js';

export interface QuorumClientOptions {
  readonly voting: Voting;
  /** Left out to see what it is for: a grant counts when a majority has confirmed it, with its term. */
  readonly confirms?: boolean;
}

/**
 * The coordinator of one process over several servers. What the votes mean is judged by the quorum of tenure: a majority gives
 * claims, one term is chosen, and a majority confirms it; renewals and ends are of a majority.
 *
 * Documents lie on the first node alone, which is simpler than that quorum.
 */
export class QuorumClient extends LedgerCoordinator {
  readonly promises: CoordinatorPromises = { ...memoryPromises, scope: 'network' };
  readonly #voting: Voting;
  readonly #confirms: boolean;

  constructor({ voting, confirms = true }: QuorumClientOptions) {
    super();
    this.#voting = voting;
    this.#confirms = confirms;
  }

  override async acquire(
    requests: readonly AcquireRequest[],
    call: CallOptions,
  ): Promise<AcquireResult[]> {
    const checked = copies(checkAcquires(requests, this.promises));
    this.throwIfClosed();
    // Half for the claims, half for the confirmation.
    const timeoutMs = call.timeoutMs / 2;
    const claims = checked.map((request) => ({
      ...request,
      ttlMs: claimMs(request.ttlMs, call.timeoutMs),
      metadata: claimMetadata,
      graceMs: 0,
      keepHistory: false,
    }));
    const votes = await this.#voting.ask('acquire', timeoutMs, (ledger, nowMs) =>
      acquireAll(ledger, claims, nowMs),
    );
    const verdicts = checked.map((request, index) => this.#judge(request, index, votes));
    const won = new Map<AcquireRequest, number>();
    for (const [index, verdict] of verdicts.entries()) {
      if (verdict.kind === 'won') won.set(checked[index] as AcquireRequest, verdict.term);
    }
    const lost = checked.filter((request) => !won.has(request));
    if (lost.length > 0) this.#takeBack(lost, call);
    if (verdicts.some(({ kind }) => kind === 'open')) {
      this.#takeBack(checked, call);
      throw undecided('acquire', votes);
    }
    const confirmed = await this.#confirm(won, timeoutMs);
    return checked.map((request, index) => {
      const verdict = verdicts[index];
      const term = won.get(request);
      if (term !== undefined && confirmed) return { outcome: 'granted', term };
      if (verdict?.kind === 'held') return { outcome: 'held', current: verdict.current };
      if (verdict?.kind === 'corrupt') return { outcome: 'corrupt', detail: verdict.detail };
      const current = verdict?.kind === 'split' ? verdict.current : undefined;
      // Others contend for it, and nobody has it yet.
      if (current !== undefined) return { outcome: 'held', current };
      throw undecided('acquire', votes);
    });
  }

  #judge(request: AcquireRequest, index: number, votes: Votes<AcquireResult[]>) {
    const answers = answersOf(votes).map(({ answer }) => answer[index] as AcquireResult);
    const { majority, nodeCount } = this.#voting;
    return judgeClaim(request, answers, { majority, silentCount: nodeCount - answers.length });
  }

  async #confirm(won: ReadonlyMap<AcquireRequest, number>, timeoutMs: number): Promise<boolean> {
    if (won.size === 0) return true;
    const all = [...won];
    const asked = this.#voting.ask('confirm', timeoutMs, (ledger, nowMs) =>
      all.map(([request, term]) => confirmOne(ledger, request, term, nowMs)),
    );
    if (!this.#confirms) return true;
    const votes = await asked;
    const isInForce = all.every((_, index) => {
      const count = answersOf(votes).filter(({ answer }) => answer[index]).length;
      return count >= this.#voting.majority;
    });
    if (!isInForce) throw undecided('acquire', votes, true);
    return true;
  }

  #takeBack(requests: readonly AcquireRequest[], { timeoutMs }: CallOptions): void {
    void this.#voting.ask('take-back', timeoutMs, (ledger) => {
      for (const request of requests) takeBackOne(ledger, request);
    });
  }

  override async renew(
    requests: readonly RenewRequest[],
    call: CallOptions,
  ): Promise<RenewResult[]> {
    const results = await super.renew(requests, call);
    const renewed = requests.filter((_, index) => results[index]?.outcome === 'renewed');
    if (renewed.length > 0)
      void this.#voting.ask('adopt', call.timeoutMs, (ledger, nowMs) => {
        for (const request of renewed) adoptOne(ledger, request, nowMs);
      });
    return results;
  }

  protected override async run<Answer>(step: LedgerStep<Answer>): Promise<Answer> {
    this.throwIfClosed();
    const { operation, timeoutMs } = step;
    const execute: LedgerStep<Answer>['execute'] = (ledger, nowMs) => step.execute(ledger, nowMs);
    if (operation.endsWith('Document')) return this.#voting.askFirst(operation, timeoutMs, execute);
    const votes = await this.#voting.ask(operation, timeoutMs, execute);
    const answers = answersOf(votes).map(({ answer }) => answer);
    const { majority, nodeCount } = this.#voting;
    const quota = { majority, silentCount: nodeCount - answers.length };
    const merged =
      answers.length < majority ? undefined : merges[operation]?.(answers as never[], quota);
    if (merged === undefined) throw undecided(operation, votes);
    return merged.value as Answer;
  }

  protected override throwIfClosed(): void {
    this.#voting.throwIfClosed();
  }

  override watch(group: string, wake: (name: string | undefined) => void): Unsubscribe {
    return this.#voting.listen<string | undefined>(
      ({ watchers }, told) => watchers.watch(group, told),
      wake,
    );
  }

  override onConnectionLost(_lost: () => void): Unsubscribe {
    // Of one node it means nothing.
    return () => {};
  }

  override onCalled(holder: Holder, called: (call: Call) => void): Unsubscribe {
    return this.#voting.listen<Call>(
      ({ watchers }, told) => watchers.onCalled(holder, told),
      called,
    );
  }

  override async close(): Promise<void> {
    this.#voting.close();
  }
}
