import { kindTold } from '../../errors/error-kind.js';
import { TenureError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { sleep } from '../../time/index.js';
import { type Endpoint, endpointText } from '../endpoint.js';
import type { RedisNode, Search } from './client.js';
import { replyCode, replyError } from './errors.js';
import { Link } from './link.js';

/** What one server answers: where to go, or that it knows of no such thing. */
type Ask = (link: Link, deadlineMs: number) => Promise<Endpoint | undefined>;

export interface Answers {
  /** Each once, that of the most servers first. */
  readonly endpoints: readonly Endpoint[];
  /** How many said that they know of no such thing. */
  readonly unknownCount: number;
  /** Why others did not answer. */
  readonly failures: readonly TenureError[];
}

/**
 * Asks several servers the same at the same time, each on a socket of its own that is closed again.
 *
 * It does not wait for more than half of the time that the search has, nor for the rest once more than half of all agree:
 * one that hangs, or that was cut off and tells old news, neither delays the others nor outvotes them.
 *
 * @param graceMs for so long, once more than half agree, the others are heard that are about to answer.
 */
export function askAll(
  nodes: readonly RedisNode[],
  ask: Ask,
  search: Search,
  graceMs = 0,
): Promise<Answers> {
  const nowMs = search.runtime.now().monotonicMs;
  const untilMs = nowMs + (search.deadlineMs - nowMs) / 2;
  const ending = new AbortController();
  const stop = () => ending.abort();
  if (search.signal.aborted) stop();
  search.signal.addEventListener('abort', stop);
  const votes = new Votes(nodes.length);
  const asked = nodes.map(async (node) => {
    try {
      votes.add(await askOne(node, ask, untilMs, { ...search, signal: ending.signal }));
    } catch (error) {
      votes.fail(
        error instanceof TenureError ? error : unreachable(kindTold(error), String(error)),
      );
    }
  });
  const decided = votes.decided.then(() => sleep(search.runtime, graceMs, ending.signal));
  return Promise.race([Promise.all(asked), decided]).then(() => {
    search.signal.removeEventListener('abort', stop);
    stop();
    return votes.answers();
  });
}

async function askOne(
  node: RedisNode,
  ask: Ask,
  untilMs: number,
  { runtime, signal }: Search,
): Promise<Endpoint | undefined> {
  const timeoutMs = Math.max(1, untilMs - runtime.now().monotonicMs);
  const link = await Link.open(node, runtime, timeoutMs, signal);
  try {
    return await ask(link, untilMs);
  } catch (error) {
    if (replyCode(error) === undefined) throw error;
    throw replyError(error as Error, 'the question', node.address);
  } finally {
    link.end('it has answered');
  }
}

class Votes {
  readonly decided: Promise<void>;
  readonly #counts = new Map<string, { readonly endpoint: Endpoint; count: number }>();
  readonly #failures: TenureError[] = [];
  readonly #askedCount: number;
  #unknownCount = 0;
  #decide: () => void = () => {};

  constructor(askedCount: number) {
    this.#askedCount = askedCount;
    this.decided = new Promise((resolve) => {
      this.#decide = resolve;
    });
  }

  add(endpoint: Endpoint | undefined): void {
    if (endpoint === undefined) {
      this.#unknownCount += 1;
      return;
    }
    const text = endpointText(endpoint);
    const vote = this.#counts.get(text) ?? { endpoint, count: 0 };
    vote.count += 1;
    this.#counts.set(text, vote);
    if (2 * vote.count > this.#askedCount) this.#decide();
  }

  fail(error: TenureError): void {
    this.#failures.push(error);
  }

  answers(): Answers {
    const ranked = [...this.#counts.values()].sort((one, other) => other.count - one.count);
    return {
      endpoints: ranked.map(({ endpoint }) => endpoint),
      unknownCount: this.#unknownCount,
      failures: [...this.#failures],
    };
  }
}
