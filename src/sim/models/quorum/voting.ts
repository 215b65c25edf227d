import {
  majorityOf,
  mayBeExecuted,
  type Votes,
} from '../../../coordinators/redis-quorum/majority.js';
import { poll } from '../../../coordinators/redis-quorum/poll.js';
import type { LedgerStep } from '../../../coordinators/rules/ledger-coordinator.js';
import { MemoryCaller } from '../../../drivers/memory/index.js';
import { OutcomeUnknownError, type TenureError, UnreachableError } from '../../../errors/index.js';
import { outcomeUnknown, unreachable } from '../../../errors/unanswered.js';
import type { Unsubscribe } from '../../../events/index.js';
import type { Runtime } from '../../../time/index.js';
import type { SimLink } from '../../network/link.js';
import type { Witness } from '../../witness.js';
import type { Machine } from '../../world/machine.js';
import type { StoreServer } from '../server.js';
import type { QuorumNode } from './node.js';

export type { Votes };

type Execute<Answer> = LedgerStep<Answer>['execute'];

/** What an outsider answers. */
const outsider = Symbol('outsider');

export interface VotingOptions {
  readonly process: Machine;
  readonly nodes: readonly QuorumNode[];
  readonly witness: Witness;
  readonly linkTo: (node: QuorumNode) => SimLink;
}

/** Asks all nodes of a quorum at once, for one incarnation of a process. */
export class Voting {
  readonly nodeCount: number;
  readonly majority: number;
  readonly #runtime: Runtime;
  readonly #options: VotingOptions;
  readonly #callers: readonly MemoryCaller[];

  constructor(options: VotingOptions) {
    const { process, nodes, linkTo } = options;
    this.#options = options;
    this.#runtime = process.runtime;
    this.nodeCount = nodes.length;
    this.majority = majorityOf(nodes.length);
    this.#callers = nodes.map(
      (node) =>
        new MemoryCaller({
          what: node.server.machine.id,
          runtime: process.runtime,
          link: linkTo(node),
          nowMs: () => node.server.machine.clock.uptimeMs,
        }),
    );
  }

  /** Never rejects. */
  ask<Answer>(
    operation: string,
    timeoutMs: number,
    execute: Execute<Answer>,
  ): Promise<Votes<Answer>> {
    const requests = this.#options.nodes.map(
      (node, index) => async (report: (vote: Votes<Answer>[number]) => void) => {
        try {
          const answer = await this.#askNode(node, index, operation, timeoutMs, execute);
          if (answer === outsider) report({ kind: 'outsider' });
          else report({ kind: 'answered', answer: answer as Answer });
        } catch (error) {
          const executed = error instanceof OutcomeUnknownError ? 'unknown' : 'no';
          report({ kind: 'failed', error: error as Error, executed });
        }
      },
    );
    return poll(this.#runtime, requests, {
      timeoutMs,
      isLagging: () => false,
      isDecided: (votes) => votes.filter(({ kind }) => kind === 'answered').length >= this.majority,
    });
  }

  /** Of the first node alone. @throws as a call does. */
  async askFirst<Answer>(
    operation: string,
    timeoutMs: number,
    execute: Execute<Answer>,
  ): Promise<Answer> {
    const [node] = this.#options.nodes;
    if (node === undefined) throw new UnreachableError('there is no node');
    return (await this.#askNode(node, 0, operation, timeoutMs, execute, true)) as Answer;
  }

  async #askNode<Answer>(
    node: QuorumNode,
    index: number,
    operation: string,
    timeoutMs: number,
    execute: Execute<Answer>,
    isOutsiderAsked = false,
  ): Promise<Answer | typeof outsider> {
    const { process, witness } = this.#options;
    const caller = this.#callers[index] as MemoryCaller;
    const dueAtMs = process.world.nowMs + timeoutMs;
    let hadSettled = false;
    try {
      return await caller.call<Answer | typeof outsider>(operation, timeoutMs, () => {
        const lateMs = process.world.nowMs - dueAtMs;
        witness.tell('executed', { process: process.id, operation, hadSettled, timeoutMs, lateMs });
        if (!node.isMember && !isOutsiderAsked) return outsider;
        return node.server.execute({ execute });
      });
    } finally {
      hadSettled = true;
    }
  }

  /** What any of the nodes tells. */
  listen<Value>(
    subscribe: (server: StoreServer, told: (value: Value) => void) => Unsubscribe,
    listener: (value: Value) => void,
  ): Unsubscribe {
    const ends = this.#callers.map((caller, index) => {
      const { server } = this.#options.nodes[index] as QuorumNode;
      return caller.listen<Value>((told) => subscribe(server, told), listener);
    });
    return () => {
      for (const end of ends) end();
    };
  }

  close(): void {
    for (const caller of this.#callers) caller.close();
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    for (const caller of this.#callers) caller.throwIfClosed();
  }
}

/** Too few answered: nothing was executed, or nobody knows. */
export function undecided(
  operation: string,
  votes: Votes<unknown>,
  isInDoubt = votes.some(mayBeExecuted),
): TenureError {
  const words = `${operation} had no answer from a majority of ${votes.length} nodes. Try again.`;
  return isInDoubt ? outcomeUnknown('timeout', words) : unreachable('timeout', words);
}
