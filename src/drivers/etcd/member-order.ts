import type { Endpoint } from '../endpoint.js';

/** How a member failed: it said so, or nothing came before the time was over. */
export type MemberFault = 'broken' | 'silent';

/**
 * In which order the members are asked: those that answered or were not asked yet, then those that broke, which cost no time to
 * ask again, then those that were silent, which may cost a share of each call. When all of them were, the next call begins at
 * another one than the last did.
 */
export class MemberOrder {
  #members: readonly Endpoint[];
  readonly #ranks = new Map<Endpoint, number>();

  constructor(members: readonly Endpoint[]) {
    this.#members = members;
  }

  /** The one to ask first in front. */
  get all(): readonly Endpoint[] {
    const rankOf = (one: Endpoint) => this.#ranks.get(one) ?? 0;
    return [...this.#members].sort((one, other) => rankOf(one) - rankOf(other));
  }

  isSilent(member: Endpoint): boolean {
    return (this.#ranks.get(member) ?? 0) >= silentRank;
  }

  /** @param wasFirst whether the call began with it. */
  failed(member: Endpoint, fault: MemberFault, wasFirst: boolean): void {
    this.#members = [...this.#members.filter((one) => one !== member), member];
    const rank = fault === 'broken' ? brokenRank : wasFirst ? firstSilentRank : silentRank;
    this.#ranks.set(member, rank);
  }

  answered(member: Endpoint): void {
    this.#ranks.delete(member);
  }
}

const [brokenRank, silentRank, firstSilentRank] = [1, 2, 3] as const;
