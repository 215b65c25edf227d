import type { Act, RevokeRequest } from '../acts.js';
import type { HistoryEntry } from '../history.js';
import type { LeaseRecord } from '../record.js';
import {
  badHistory,
  badSuspension,
  badSuspensions,
  encodeWords,
  historyScript,
  parseLine,
  parseOwnRecord,
  revokeScript,
  suspendScript,
  whole,
} from '../redis/index.js';
import { noMajority } from './errors.js';
import { answersOf, isCertain, mayHold, type Votes } from './majority.js';
import { mergeLines } from './merge/history.js';
import { areViewsCertain, mergeViews, type View } from './merge/records.js';
import type { Question, Quorum } from './quorum.js';
import {
  forgetSuspensionScript,
  resumeAndRememberScript,
  suspensionScript,
} from './scripts/acts.js';
import { atStamp } from './scripts/member.js';

const mendTimeoutMs = 1_000;

/**
 * What operators do to a name, and what is remembered of it.
 *
 * An act is in force once a majority knows of it: every node judges a grant and a renewal by what it knows itself, and
 * no majority can be found that none of those belongs to.
 */
export class Acts {
  readonly #quorum: Quorum;
  readonly #nodeTimeoutMs: number;
  readonly #mending = new Set<string>();

  constructor(quorum: Quorum, nodeTimeoutMs: number) {
    this.#quorum = quorum;
    this.#nodeTimeoutMs = nodeTimeoutMs;
  }

  async revoke(
    name: string,
    request: RevokeRequest,
    timeoutMs: number,
  ): Promise<LeaseRecord | undefined> {
    const { term, to = '', reserveMs = 0 } = request;
    const { keys, wake } = this.#placeOf(name);
    const args = [encodeWords(request), to, whole(reserveMs), name, String(term ?? ''), wake];
    const call = { keys, args: [...args, this.#quorum.stampMs()] };
    const question = { script: atStamp(revokeScript), call };
    // Only a majority that has it keeps the name for the successor afterwards.
    const mustHave = to === '' ? undefined : isRevoked;
    return this.#act(name, 'revoke', question, timeoutMs, mustHave);
  }

  async suspend(name: string, act: Act, timeoutMs: number): Promise<LeaseRecord> {
    const { keys, wake } = this.#placeOf(name);
    const call = { keys, args: [encodeWords(act), name, wake, this.#quorum.stampMs()] };
    const question = { script: atStamp(suspendScript), call };
    const record = await this.#act(name, 'suspend', question, timeoutMs);
    if (record === undefined) throw badSuspension(name, this.#quorum.keys.suspended);
    return record;
  }

  async #act(
    name: string,
    what: string,
    question: Pick<Question<View>, 'script' | 'call'>,
    timeoutMs: number,
    mustHave?: (view: View) => boolean,
  ): Promise<LeaseRecord | undefined> {
    const { keys, majority, addresses } = this.#quorum;
    const viewsOf = (votes: Votes<View>) => answersOf(votes).map(({ answer }) => answer);
    const quota = (votes: Votes<View>) => this.#quota(votes);
    type Reply = readonly [now: string, text: string | null, remainingMs: number, string | null];
    const votes = await this.#quorum.ask<View>(
      {
        ...question,
        parse: (reply) => {
          const [now, text = null, remainingMs, suspension = null] = reply as Reply;
          if (now === 'corrupt') throw badSuspensions(keys.suspended);
          return parseOwnRecord(name, { text, remainingMs, suspension, nowMs: Number(now) });
        },
        isDecided: (soFar) =>
          viewsOf(soFar).length >= majority && areViewsCertain(viewsOf(soFar), quota(soFar)),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    const record = mergeViews(viewsOf(votes), quota(votes));
    const isKnown =
      mustHave === undefined ||
      !mustHave(record) ||
      viewsOf(votes).filter(mustHave).length >= majority;
    if (viewsOf(votes).length < majority || !isKnown)
      throw noMajority(what, votes, addresses, false);
    return record;
  }

  async resume(name: string, act: Act, timeoutMs: number): Promise<boolean> {
    const { keys, majority, addresses } = this.#quorum;
    const { lease, history, queue, candidates, group } = keys.place(name);
    const words = encodeWords(act);
    const votes = await this.#quorum.ask<boolean>(
      {
        script: atStamp(resumeAndRememberScript),
        call: {
          keys: [keys.suspended, lease, history, queue, candidates, keys.resumed],
          args: [words, name, keys.wake(group), keys.calls, this.#quorum.stampMs()],
        },
        parse: (reply) => {
          if (reply === 'corrupt') throw badSuspensions(keys.suspended);
          if (reply === 'foreign') throw badSuspension(name, keys.suspended);
          return reply === 1;
        },
        isDecided: (soFar) =>
          answersOf(soFar).length >= majority &&
          isCertain({ count: resumedCount(soFar), ...this.#quota(soFar) }),
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    if (answersOf(votes).length < majority) throw noMajority('resume', votes, addresses, false);
    return mayHold({ count: resumedCount(votes), ...this.#quota(votes) });
  }

  async history(name: string, timeoutMs: number): Promise<HistoryEntry[]> {
    const { keys, majority, addresses } = this.#quorum;
    const { lease, history } = keys.place(name);
    const votes = await this.#quorum.ask<string[]>(
      {
        script: historyScript,
        isRead: true,
        call: { keys: [lease, history], args: [] },
        parse: (reply) => {
          if (reply === 'corrupt') throw badHistory(name, history);
          return reply as string[];
        },
        // Whoever answers, since each closes the line of an expired term by its own clock: a person waits for this one.
        isDecided: () => false,
        nodeTimeoutMs: this.#nodeTimeoutMs,
      },
      this.#quorum.deadlineIn(timeoutMs),
    );
    const lists = answersOf(votes).map(({ answer }) => answer);
    if (lists.length < majority) throw noMajority('history', votes, addresses, true);
    return mergeLines(lists, this.#quota(votes)).map((text) => {
      const line = parseLine(text);
      if (line === undefined) throw badHistory(name, history);
      return line;
    });
  }

  /** Tells nodes that missed it of the end of a suspension, in the background. */
  mendSuspension(name: string): void {
    if (this.#mending.has(name)) return;
    this.#mending.add(name);
    void this.#mend(name)
      // Whoever meets it again tries again.
      .catch(() => undefined)
      .finally(() => this.#mending.delete(name));
  }

  async #mend(name: string): Promise<void> {
    const { keys } = this.#quorum;
    const votes = await this.#quorum.ask<readonly (string | null)[]>(
      {
        script: suspensionScript,
        isRead: true,
        call: { keys: [keys.suspended, keys.resumed], args: [name] },
        parse: (reply) => reply as (string | null)[],
        isDecided: () => false,
        nodeTimeoutMs: mendTimeoutMs,
      },
      this.#quorum.deadlineIn(mendTimeoutMs),
    );
    const ended = new Set(answersOf(votes).flatMap(({ answer }) => answer[1] ?? []));
    for (const { node, answer } of answersOf(votes)) {
      const [text] = answer;
      if (text == null || !ended.has(text)) continue;
      const call = { keys: [keys.suspended], args: [name, text] };
      await this.#quorum.askOne(node, forgetSuspensionScript, call, mendTimeoutMs);
    }
  }

  #quota(votes: Votes<unknown>) {
    const { majority, nodes } = this.#quorum;
    return { majority, silentCount: nodes.length - answersOf(votes).length };
  }

  #placeOf(name: string): { readonly keys: string[]; readonly wake: string } {
    const { keys } = this.#quorum;
    const { lease, history, group } = keys.place(name);
    return { keys: [keys.suspended, lease, history, keys.group(group)], wake: keys.wake(group) };
  }
}

function isRevoked(view: View): boolean {
  const timed = view?.state === 'suspended' ? view.ending : view;
  return timed?.state === 'reserved' || (timed?.state === 'held' && timed.revocation !== undefined);
}

function resumedCount(votes: Votes<boolean>): number {
  return answersOf(votes).filter(({ answer }) => answer).length;
}
