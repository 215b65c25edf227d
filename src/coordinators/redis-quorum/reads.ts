import { RecordCorruptError } from '../../errors/index.js';
import { groupOf } from '../names.js';
import type { LeaseRecord } from '../record.js';
import { badRecord, foreign, membersScript, parseRecord, readScript } from '../redis/index.js';
import { noMajority } from './errors.js';
import { answersOf, mayHold, type Votes } from './majority.js';
import { areViewsCertain, mergeViews } from './merge/records.js';
import type { Deadline, Quorum } from './quorum.js';

/** How many records one step reads: few enough not to hold up renewals, and all shards of a usual group. */
const readChunkCount = 512;

/** Before what nodes disagree about is looked at once more: a change of owner is over by then, as a rule. */
const secondLookPauseMs = 10;

type Seen = LeaseRecord | 'free' | RecordCorruptError;

/** What a majority holds under names; nothing here changes a lease. */
export class Reads {
  readonly #quorum: Quorum;
  readonly #nodeTimeoutMs: number;
  readonly #onForeign: (name: string) => void;

  constructor(quorum: Quorum, nodeTimeoutMs: number, onForeign: (name: string) => void) {
    this.#quorum = quorum;
    this.#nodeTimeoutMs = nodeTimeoutMs;
    this.#onForeign = onForeign;
  }

  async read(names: readonly string[], timeoutMs: number): Promise<(LeaseRecord | undefined)[]> {
    const found = await this.#readAll(names, this.#quorum.deadlineIn(timeoutMs));
    return found.map((record) => {
      if (record instanceof RecordCorruptError) throw record;
      return record === 'free' ? undefined : record;
    });
  }

  async list(group: string, timeoutMs: number): Promise<LeaseRecord[]> {
    const deadline = this.#quorum.deadlineIn(timeoutMs);
    const names = await this.#namesIn(group, deadline);
    const found = await this.#readAll(names, deadline);
    return found.flatMap((record, index) => {
      if (!(record instanceof RecordCorruptError)) return record === 'free' ? [] : [record];
      this.#onForeign(names[index] as string);
      return [];
    });
  }

  async #readAll(names: readonly string[], deadline: Deadline): Promise<Seen[]> {
    const found: Seen[] = [];
    for (let from = 0; from < names.length; from += readChunkCount)
      found.push(...(await this.#readChunk(names.slice(from, from + readChunkCount), deadline)));
    return found;
  }

  /**
   * A name is free also if each node shows something else, or the claims of who will have it in a moment. So it is before
   * and after a change of owner that meets the question halfway: what stands there then, a second look tells.
   */
  async #readChunk(names: readonly string[], deadline: Deadline): Promise<Seen[]> {
    const sentAtMs = this.#quorum.nowMs();
    const votes = await this.#askFor(names, deadline);
    const tookMs = this.#quorum.nowMs() - sentAtMs;
    const found = names.map((_, index) => this.#merge(votes, index));
    const unclear = [...names.keys()].filter(
      (index) =>
        found[index] === 'free' && answersOf(votes).some(({ answer }) => answer[index] !== 'free'),
    );
    const neededMs = secondLookPauseMs + Math.max(secondLookPauseMs, 2 * tookMs);
    if (unclear.length === 0 || this.#quorum.leftMs(deadline) < neededMs) return found;
    await this.#quorum.pause(secondLookPauseMs);
    const unclearNames = unclear.map((index) => names[index] as string);
    // Without an answer to it, what the first look has found is true as well: a majority had said so.
    const again = await this.#askFor(unclearNames, deadline).catch(() => undefined);
    if (again === undefined) return found;
    for (const [at, index] of unclear.entries()) found[index] = this.#merge(again, at);
    return found;
  }

  /** @throws what `noMajority` says. */
  async #askFor(names: readonly string[], deadline: Deadline): Promise<Votes<Seen[]>> {
    const { keys, majority } = this.#quorum;
    type Reply = readonly [text: string | null, remainingMs: number, suspension: string | null];
    const leases = names.map((name) => keys.place(name).lease);
    const votes = await this.#quorum.ask<Seen[]>(
      {
        script: readScript,
        isRead: true,
        call: { keys: [keys.suspended, ...leases], args: [names.length, ...names] },
        parse: (reply) => {
          const [now, found] = reply as [string, Reply[]];
          return found.map(([text, remainingMs, suspension], index) => {
            const name = names[index] as string;
            const stands = { text, remainingMs, suspension, nowMs: Number(now) };
            return parseRecord(name, stands) ?? foreign(keys, name, stands);
          });
        },
        isDecided: (soFar) =>
          answersOf(soFar).length >= majority &&
          names.every((_, index) => this.#isCertain(soFar, index)),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      deadline,
    );
    if (answersOf(votes).length < majority)
      throw noMajority('read', votes, this.#quorum.addresses, true);
    return votes;
  }

  #isCertain(votes: Votes<Seen[]>, index: number): boolean {
    const { views, corrupt, quota } = this.#at(votes, index);
    return corrupt.length === 0 && areViewsCertain(views, quota);
  }

  #merge(votes: Votes<Seen[]>, index: number): Seen {
    const { views, corrupt, quota } = this.#at(votes, index);
    const [error] = corrupt;
    if (error !== undefined && mayHold({ count: corrupt.length, ...quota })) return error;
    return mergeViews(views, quota) ?? 'free';
  }

  #at(votes: Votes<Seen[]>, index: number) {
    const seen = answersOf(votes).map(({ answer }) => answer[index] as Seen);
    const corrupt = seen.filter((one) => one instanceof RecordCorruptError);
    const views = seen.map((one) =>
      one === 'free' || one instanceof RecordCorruptError ? undefined : one,
    );
    const { majority, nodes } = this.#quorum;
    return { views, corrupt, quota: { majority, silentCount: nodes.length - seen.length } };
  }

  /** In order of their code units; some may be free by now. */
  async #namesIn(group: string, deadline: Deadline): Promise<string[]> {
    const { keys, majority, addresses } = this.#quorum;
    const indexKey = keys.group(group);
    const votes = await this.#quorum.ask<string[]>(
      {
        script: membersScript,
        isRead: true,
        call: { keys: [indexKey, keys.suspended], args: [] },
        parse: (reply) => {
          if (reply === null)
            throw badRecord(
              `in the place of the index of group "${group}", or of the suspended names (the key "${keys.suspended}"),`,
              indexKey,
            );
          const [members, suspended] = reply as [string[], string[]];
          return [...members, ...suspended.filter((name) => groupOf(name) === group)];
        },
        isDecided: (soFar) => answersOf(soFar).length >= majority,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      deadline,
    );
    if (answersOf(votes).length < majority) throw noMajority('list', votes, addresses, true);
    return [...new Set(answersOf(votes).flatMap(({ answer }) => answer))].sort();
  }
}
