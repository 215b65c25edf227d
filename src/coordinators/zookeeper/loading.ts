import type {
  NodeContent,
  NodeEvent,
  NodeStat,
  ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import type { Call } from './call.js';
import {
  type LoadedCandidates,
  loadCandidates,
  noCandidates,
  type WantedEntries,
} from './entries.js';
import { childrenOf, nodeOrNothing, nothingWithoutNode } from './nodes.js';
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
  /** Whether somebody waits for the name as far as is known: then its children are asked for with it, and not after it. */
  readonly isAwaited?: ((name: string) => boolean) | undefined;
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
    return Promise.all(names.map((name) => this.#one({ call, connection, name, options })));
  }

  async #one(reading: Reading): Promise<LoadedName> {
    const { call, connection, name, options } = reading;
    const path = this.#paths.name(name);
    const wanted = options.wanted?.(name);
    const isListed = wanted !== undefined || options.isAwaited?.(name) === true;
    for (;;) {
      const read = nodeOrNothing(call, connection, path, options.watch);
      const listing = isListed ? childrenOf(call, connection, path) : undefined;
      const [content, children, candidates] = await Promise.all([
        read,
        listing,
        wanted !== undefined && listing !== undefined
          ? loadCandidates(call, connection, this.#paths, name, wanted, listing)
          : noCandidates,
      ]);
      const loaded =
        content === undefined
          ? { ...noLease, name, stat: undefined, state: {}, foreign: undefined, candidates }
          : await this.#judge(reading, { content, children, candidates });
      if (loaded !== undefined) return loaded;
    }
  }

  /** @returns the name as it stands, or nothing if it has been written meanwhile. */
  async #judge(reading: Reading, found: Found): Promise<LoadedName | undefined> {
    const { call, connection, name, options } = reading;
    const { content, candidates } = found;
    const { stat } = content;
    const { modifiedAtMs } = stat;
    const base = { ...noLease, name, stat, modifiedAtMs, candidates };
    const foreign = { ...base, state: {}, foreign: content.data.toString() };
    const state = decodeState(content.data, stat);
    if (state === undefined) return foreign;
    const { lease } = state;
    if (lease === undefined) {
      if (await this.#isLeaseLeft(reading, found))
        return (await this.#isRewritten(reading, stat)) ? undefined : foreign;
      if (state.isSwept !== true) return { ...base, state, foreign: undefined };
      const swept = { stat: undefined, sweptVersion: stat.version, modifiedAtMs };
      return { ...noLease, name, ...swept, state: {}, foreign: undefined };
    }
    const leasePath = this.#paths.lease(name, lease.attempt);
    const [node] = await Promise.all([
      nodeOrNothing(call, connection, leasePath),
      options.watch && watchEnd(call, connection, leasePath, options.watch),
    ]);
    const particulars = node && decodeLeaseNode(node.data);
    const whole = { ...base, state, foreign: undefined };
    if (node !== undefined && particulars !== undefined)
      return { ...whole, leaseNode: { ...particulars, stat: node.stat }, isSessionAlive: true };
    // Its session lives, and somebody has written over what it says: nobody can tell whose it is, or until when.
    if (node !== undefined) return { ...base, state: {}, foreign: node.data.toString() };
    // It may have been released since: only if the text still tells of it, it has ended without a word.
    const [isLeft, isRewritten, session] = await Promise.all([
      // In this order: a lease that is granted after the second look must not be seen at the first.
      this.#isLeaseLeft(reading, found),
      this.#isRewritten(reading, stat),
      nodeOrNothing(call, connection, this.#paths.session(lease.session)),
    ]);
    if (isRewritten) return undefined;
    return isLeft ? foreign : { ...whole, isSessionAlive: session !== undefined };
  }

  /**
   * Whether a lease stands that the text does not tell of. A transaction that writes what follows a lease takes its node away:
   * unless one has come between, somebody else has written over the text, and the holder has not heard of it yet.
   */
  async #isLeaseLeft(
    { call, connection, name }: Reading,
    { content, children }: Found,
  ): Promise<boolean> {
    if (content.stat.childCount === 0) return false;
    const all = children ?? (await childrenOf(call, connection, this.#paths.name(name)));
    return all.some((child) => this.#paths.isLease(child));
  }

  async #isRewritten(
    { call, connection, name }: Reading,
    { modifiedZxid }: NodeStat,
  ): Promise<boolean> {
    const again = await nodeOrNothing(call, connection, this.#paths.name(name));
    return again?.stat.modifiedZxid !== modifiedZxid;
  }
}

interface Reading {
  readonly call: Pick<Call, 'ask'>;
  readonly connection: ZooKeeperConnection;
  readonly name: string;
  readonly options: LoadOptions;
}

interface Found {
  readonly content: NodeContent;
  /** Of the name's node, if they were asked for with it. */
  readonly children: readonly string[] | undefined;
  readonly candidates: LoadedCandidates;
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
