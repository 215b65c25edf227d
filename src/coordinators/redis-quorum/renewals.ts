import type { RenewRequest, RenewResult } from '../contract.js';
import {
  answerRenew,
  indexRefreshTtls,
  locate,
  notIndexed,
  RenewalLocator,
  readScript,
  renewCall,
  renewScript,
} from '../redis/index.js';
import { noMajority } from './errors.js';
import { answersOf, type Votes } from './majority.js';
import { isClaim } from './merge/memories.js';
import { mergeRenewal } from './merge/refusals.js';
import type { Quorum } from './quorum.js';
import { adoptScript } from './scripts/adopt.js';

type Outcome = 'renewed' | 'vanished' | 'superseded' | 'revoked';

const adoptionTimeoutMs = 1_000;

/** Extends leases at a majority, and afterwards brings them to nodes that lack them. */
export class Renewals {
  readonly #quorum: Quorum;
  readonly #locator: RenewalLocator;
  #adopting: Promise<void> | undefined;

  constructor(quorum: Quorum) {
    this.#quorum = quorum;
    this.#locator = new RenewalLocator(quorum.keys);
  }

  async renew(
    requests: readonly RenewRequest[],
    timeoutMs: number,
    nodeTimeoutMs: number,
  ): Promise<RenewResult[]> {
    const quorum = this.#quorum;
    const nowMs = quorum.nowMs();
    const { places, refreshed, ...call } = renewCall(
      this.#locator.locate(requests),
      requests,
      nowMs,
    );
    const merged = (votes: Votes<Outcome[]>) =>
      requests.map((_, index) => mergeRenewal(outcomesAt(votes, index), this.#quotaOf(votes)));
    const votes = await quorum.ask<Outcome[]>(
      {
        script: renewScript,
        call,
        parse: (reply) => answerRenew(requests, reply).map(outcomeOf),
        isDecided: (soFar) => merged(soFar).every((result) => result !== undefined),
        nodeTimeoutMs,
      },
      quorum.deadlineIn(timeoutMs),
    );
    const results = merged(votes).map((result) => {
      if (result !== undefined) return result;
      throw noMajority('renew', votes, quorum.addresses, false);
    });
    for (const [index, place] of places.entries()) {
      if (results[index]?.outcome !== 'renewed') place.indexFreshUntilMs = notIndexed;
      else if (refreshed.has(place))
        place.indexFreshUntilMs = nowMs + (requests[index]?.ttlMs ?? 0) * indexRefreshTtls;
    }
    this.#bringToOthers(requests, votes, results);
    return results;
  }

  #quotaOf(votes: Votes<unknown>) {
    const { majority, nodes } = this.#quorum;
    return { majority, silentCount: nodes.length - answersOf(votes).length };
  }

  /** In the background, one at a time: a lease that is at a bare majority ends with the next node that fails. */
  #bringToOthers(
    requests: readonly RenewRequest[],
    votes: Votes<Outcome[]>,
    results: readonly RenewResult[],
  ): void {
    const missing = answersOf(votes).flatMap(({ node, answer }) => {
      const names = requests
        .filter((_, index) => results[index]?.outcome === 'renewed' && answer[index] === 'vanished')
        .map(({ name }) => name);
      return names.length > 0 ? [{ node, names }] : [];
    });
    if (missing.length === 0 || this.#adopting !== undefined) return;
    this.#adopting = this.#adopt(missing)
      .catch(() => undefined)
      .finally(() => {
        this.#adopting = undefined;
      });
  }

  async #adopt(missing: readonly { node: number; names: readonly string[] }[]): Promise<void> {
    const quorum = this.#quorum;
    const { keys } = quorum;
    const names = [...new Set(missing.flatMap((one) => one.names))];
    const leases = names.map((name) => keys.place(name).lease);
    type Text = readonly [text: string | null, remainingMs: number, suspension: string | null];
    const votes = await quorum.ask<readonly Text[]>(
      {
        script: readScript,
        isRead: true,
        call: { keys: [keys.suspended, ...leases], args: [names.length, ...names] },
        parse: (reply) => (reply as [string, Text[]])[1],
        isDecided: (soFar) => answersOf(soFar).length >= quorum.majority,
        nodeTimeoutMs: adoptionTimeoutMs,
      },
      quorum.deadlineIn(adoptionTimeoutMs),
    );
    const known = new Map(
      names.map((name, index) => [
        name,
        agreedText(
          answersOf(votes).map(({ answer }) => answer[index]),
          quorum.majority,
        ),
      ]),
    );
    await Promise.all(missing.map((one) => this.#give(one.node, one.names, known)));
  }

  async #give(
    number: number,
    names: readonly string[],
    known: ReadonlyMap<string, { text: string; remainingMs: number } | undefined>,
  ): Promise<void> {
    const { keys } = this.#quorum;
    const given = names.flatMap((name) => {
      const lease = known.get(name);
      return lease === undefined ? [] : [{ name, ...lease }];
    });
    if (given.length === 0) return;
    const { places, indexes, numbers } = locate(keys, given);
    await this.#quorum.askOne(
      number,
      adoptScript,
      {
        keys: [
          keys.term,
          keys.suspended,
          ...places.map(({ lease }) => lease),
          ...places.map(({ history }) => history),
          ...indexes,
        ],
        args: [
          given.length,
          ...given.flatMap(({ name, text, remainingMs }, index) => [
            text,
            remainingMs,
            name,
            numbers[index] ?? 0,
          ]),
        ],
      },
      adoptionTimeoutMs,
    );
  }
}

function outcomeOf(result: RenewResult): Outcome {
  return result.outcome === 'renewed' ? 'renewed' : result.reason;
}

function outcomesAt(votes: Votes<Outcome[]>, index: number): Outcome[] {
  return answersOf(votes).map(({ answer }) => answer[index] as Outcome);
}

/** A plain lease whose text a majority shows, with the time that it has left at all of them. */
function agreedText(
  texts: readonly (readonly [string | null, number, string | null] | undefined)[],
  majority: number,
): { text: string; remainingMs: number } | undefined {
  const counts = new Map<string, number[]>();
  for (const [text = null, remainingMs = 0] of texts.flatMap((one) => (one ? [one] : []))) {
    const isLease = text !== null && /^2[LE]/.test(text) && !isClaim(text) && remainingMs > 0;
    if (isLease) counts.set(text, [...(counts.get(text) ?? []), remainingMs]);
  }
  for (const [text, lives] of counts)
    if (lives.length >= majority) return { text, remainingMs: Math.min(...lives) };
  return undefined;
}
