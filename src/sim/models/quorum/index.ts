import { Random } from '../../random.js';
import type { Machine } from '../../world/machine.js';
import type { CoordinatorModel, ModelStage, RunningModel } from '../model.js';
import { StoreServer } from '../server.js';
import { QuorumClient } from './client.js';
import { type QuorumNode, seed } from './node.js';
import { Voting } from './voting.js';

const nodeIds = ['node1', 'node2', 'node3'];

/** After so long a node that lost its memory is given back what the others know: no vote it gave before counts any more. */
const settleMs = 2_000;

/** What a quorum may leave out, to see what it is for. */
export interface QuorumGuards {
  /** A node without its memory has no vote until it was given back. Default `true`. */
  readonly keepsOut?: boolean;
  /** A grant counts when a majority has confirmed it, with its term. Default `true`. */
  readonly confirms?: boolean;
}

/** Several independent servers of which a majority decides. A minority may be down, or lose its memory. */
export const quorum: CoordinatorModel = {
  name: 'quorum',
  likeness: 'Several Redis masters as a quorum.',
  faults: ['forget-node'],
  servers: nodeIds,
  start: (stage) => startQuorum(stage, {}),
};

export function startQuorum(stage: ModelStage, guards: QuorumGuards): RunningModel {
  const { witness, world, note } = stage;
  const nodes = nodeIds.map((id): QuorumNode => {
    const machine = stage.server(id);
    return { server: new StoreServer({ machine, witness, isTold: false }), isMember: true };
  });

  function forget(node: QuorumNode): void {
    const others = nodes.filter((one) => one !== node);
    // Never more than a minority: nobody promises anything then.
    if (others.some(({ isMember }) => !isMember)) return;
    note('forgets', node.server.machine.id);
    witness.cover('a node of the quorum lost its memory');
    node.server.adopt();
    if (guards.keepsOut === false) return;
    node.isMember = false;
    world.after(settleMs, () => rejoin(node, others));
  }

  /** Waits for a majority that runs. */
  function rejoin(node: QuorumNode, others: readonly QuorumNode[]): void {
    const { machine } = node.server;
    const isQuiet = [node, ...others].every(
      ({ server }) => !server.machine.isPaused && !server.machine.isDown,
    );
    if (!isQuiet) {
      world.after(settleMs, () => rejoin(node, others));
      return;
    }
    seed(node, others);
    note('rejoins', machine.id);
  }

  return {
    connect: (process: Machine) =>
      new QuorumClient({
        voting: new Voting({
          process,
          nodes,
          witness,
          linkTo: ({ server }) => stage.link(process, server.machine),
        }),
        ...(guards.confirms !== undefined && { confirms: guards.confirms }),
      }),
    inflict(fault) {
      forget(new Random(fault.seed, 'node').pick(nodes));
    },
    restarted: (machine) => {
      for (const { server } of nodes) if (server.machine === machine) server.disconnect();
    },
  };
}
