import type { NodeEvent, NodeStat, ZooKeeperConnection } from '../../drivers/zookeeper/index.js';
import type { Call } from './call.js';
import {
  type LoadedCandidates,
  loadCandidates,
  noCandidates,
  type WantedEntries,
} from './entries.js';
import { nodeOrNothing, nothingWithoutNode } from './nodes.js';
import type { ZooKeeperPaths } from './paths.js';
import { decodeLeaseNode, decodeState, type LeaseParticulars, type NameState } from './state.js';

/** A name as it was read, with what is needed to write under the condition that it is still so. */
export interface LoadedName {
  readonly name: string;
  /** Of the name's own node; `undefined` if there is none. */
  readonly stat: NodeStat | undefined;
  /** Of a node that is to be deleted: it counts as none, and goes with the next write. */
  readonly sweptVersion?: number | undefined;
  /** When the node was last written, be it to be deleted. */
  readonly modifiedAtMs?: number | undefined;
  readonly state: NameState;
  /** What stands in the node if it is no state. */
  readonly foreign: string | undefined;
  /** The node of the lease that the state tells of, if it is there. */
  readonly leaseNode: (LeaseParticulars & { readonly stat: NodeStat }) | undefined;
  /** Whether the session is there that the lease went with. Told only if the lease's node is gone. */
  readonly isSessionAlive: boolean;
  /** The lease is ours and its time is over by our own clock: only its node is still there. */
  readonly isOverdue?: boolean;
  readonly candidates: LoadedCandidates;
}

export interface LoadOptions {
  /** Whose entries of a name are read. Default: nobody's, and the queue is not looked at either. */
  readonly wanted?: ((name: string) => WantedEntries) | undefined;
  /** Called once when the name's node is written, or its lease's node goes. */
  readonly watch?: (event: NodeEvent) => void;
}

/** Reads names over one connection, many at a time. The caller sees to it that the connection is up to date. */
export class NameLoader {
  readonly #paths: ZooKeeperPaths;

  constructor(paths: ZooKeeperPaths) {
    this.#paths = paths;
  }

  load(
    call: Pick<Call, 'ask'>,
    connection: ZooKeeperConnection,
    names: readonly string[],
    options: LoadOptions = {},
  ): Promise<LoadedName[]> {
    return Promise.all(names.map((name) => this.#one(call, connection, name, options)));
  }

  async #one(
    call: Pick<Call, 'ask'>,
    connection: ZooKeeperConnection,
    name: string,
    options: LoadOptions,
  ): Promise<LoadedName> {
    const path = this.#paths.name(name);
    for (;;) {
      const [content, candidates] = await Promise.all([
        nodeOrNothing(call, connection, path, options.watch),
        options.wanted
          ? loadCandidates(call, connection, this.#paths, name, options.wanted(name))
          : noCandidates,
      ]);
      const state = content && decodeState(content.data, content.stat);
      if (content !== undefined && state?.isSwept === true) {
        const { version, modifiedAtMs } = content.stat;
        const swept = { stat: undefined, sweptVersion: version, modifiedAtMs };
        return { name, ...swept, state: {}, foreign: undefined, ...noLease };
      }
      const modifiedAtMs = content?.stat.modifiedAtMs;
      const base = { name, stat: content?.stat, modifiedAtMs, candidates };
      if (content !== undefined && state === undefined)
        return { ...noLease, ...base, state: {}, foreign: content.data.toString() };
      const lease = state?.lease;
      if (lease === undefined)
        return { ...noLease, ...base, state: state ?? {}, foreign: undefined };

      const leasePath = this.#paths.lease(name, lease.attempt);
      const [node] = await Promise.all([
        nodeOrNothing(call, connection, leasePath),
        options.watch && watchEnd(call, connection, leasePath, options.watch),
      ]);
      const particulars = node && decodeLeaseNode(node.data);
      const whole = { ...base, state: state as NameState, foreign: undefined };
      if (node !== undefined && particulars !== undefined)
        return { ...whole, leaseNode: { ...particulars, stat: node.stat }, isSessionAlive: true };
      // Its session lives, and somebody has written over what it says: nobody can tell whose it is, or until when.
      if (node !== undefined)
        return { ...noLease, ...base, state: {}, foreign: node.data.toString() };
      // It may have been released since: only if the text still tells of it, it has ended without a word.
      const [again, session] = await Promise.all([
        nodeOrNothing(call, connection, path),
        nodeOrNothing(call, connection, this.#paths.session(lease.session)),
      ]);
      if (again?.stat.modifiedZxid === content?.stat.modifiedZxid)
        return { ...whole, leaseNode: undefined, isSessionAlive: session !== undefined };
    }
  }
}

const noLease = { leaseNode: undefined, isSessionAlive: false, candidates: noCandidates } as const;

/** Not awaited for its answer: whether the node is there says the read beside it. */
async function watchEnd(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  path: string,
  watch: (event: NodeEvent) => void,
): Promise<void> {
  await call.ask(connection, () => connection.getChildren(path, watch)).catch(nothingWithoutNode);
}
