import {
  errorCode,
  isZooKeeperError,
  type NodeContent,
  type NodeEvent,
  type NodeStat,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import { Holder } from '../holder.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { Call } from './call.js';
import type { ZooKeeperPaths } from './paths.js';
import {
  decodeLeaseNode,
  decodeState,
  type LeaseParticulars,
  type NameState,
  parseObject,
} from './state.js';

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
  readonly candidates: readonly LoadedCandidate[];
}

export interface LoadedCandidate {
  readonly path: string;
  readonly stat: NodeStat;
  readonly ttlMs: number;
  /** The node of the session that it goes with. */
  readonly session: string;
  readonly entry: StoredCandidate;
}

export interface LoadOptions {
  /** All of them; or that of one holder alone, by its digest. */
  readonly withCandidates?: boolean | ((name: string) => string | undefined);
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
        this.#candidates(call, connection, name, options.withCandidates ?? false),
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
      // It may have been released since: only if the text still tells of it, it has ended without a word.
      const [again, session] = await Promise.all([
        nodeOrNothing(call, connection, path),
        nodeOrNothing(call, connection, this.#paths.session(lease.session)),
      ]);
      if (again?.stat.modifiedZxid === content?.stat.modifiedZxid)
        return { ...whole, leaseNode: undefined, isSessionAlive: session !== undefined };
    }
  }

  async #candidates(
    call: Pick<Call, 'ask'>,
    connection: ZooKeeperConnection,
    name: string,
    which: boolean | ((name: string) => string | undefined),
  ): Promise<LoadedCandidate[]> {
    if (which === false) return [];
    const digest = which === true ? undefined : which(name);
    const paths =
      digest === undefined
        ? await this.#candidatePaths(call, connection, name)
        : [this.#paths.candidate(name, digest)];
    const loaded = await Promise.all(
      paths.map(async (path) => {
        const node = await nodeOrNothing(call, connection, path);
        return node && decodeCandidate(path, node);
      }),
    );
    return loaded.filter((one) => one !== undefined);
  }

  async #candidatePaths(
    call: Pick<Call, 'ask'>,
    connection: ZooKeeperConnection,
    name: string,
  ): Promise<string[]> {
    const path = this.#paths.name(name);
    const children = await call
      .ask(connection, () => connection.getChildren(path))
      .catch(nothingWithoutNode);
    return (children ?? [])
      .filter((child) => this.#paths.isCandidate(child))
      .map((child) => `${path}/${child}`);
  }
}

const noLease = { leaseNode: undefined, isSessionAlive: false, candidates: [] } as const;

/** Not awaited for its answer: whether the node is there says the read beside it. */
async function watchEnd(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  path: string,
  watch: (event: NodeEvent) => void,
): Promise<void> {
  await call.ask(connection, () => connection.getChildren(path, watch)).catch(nothingWithoutNode);
}

export async function nodeOrNothing(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  path: string,
  watch?: (event: NodeEvent) => void,
): Promise<NodeContent | undefined> {
  return call.ask(connection, () => connection.getData(path, watch)).catch(nothingWithoutNode);
}

export function nothingWithoutNode(error: unknown): undefined {
  if (isZooKeeperError(error, errorCode.noNode)) return undefined;
  throw error;
}

interface WrittenCandidate {
  readonly tenure: number;
  readonly holder: string;
  readonly standing: StoredCandidate['standing'];
  readonly preference: number;
  readonly ttlMs: number;
  readonly session: string;
  readonly metadata?: string | undefined;
}

export function encodeCandidate(
  { holder, standing, preference, metadata }: StoredCandidate,
  ttlMs: number,
  session: string,
): Buffer {
  const written: WrittenCandidate = {
    tenure: 1,
    holder: holder.wire,
    standing,
    preference,
    ttlMs,
    session,
    metadata,
  };
  return Buffer.from(JSON.stringify(written));
}

/**
 * The order of those who wait is that of the transactions that made their nodes. These never fall, where the ten digits of
 * a sequential node begin anew with their parent, and overflow.
 */
function decodeCandidate(path: string, { data, stat }: NodeContent): LoadedCandidate | undefined {
  const written = parseObject(data.toString()) as Partial<WrittenCandidate> | undefined;
  if (written?.tenure !== 1) return undefined;
  const { standing, preference, ttlMs, session, metadata } = written;
  const holder = Holder.parse(String(written.holder));
  if (holder === undefined || standing === undefined || session === undefined) return undefined;
  if (typeof ttlMs !== 'number' || typeof preference !== 'number') return undefined;
  const { id, digest } = holder;
  const entry = {
    holder,
    id,
    digest,
    standing,
    preference,
    since: stat.createdZxid,
    sinceMs: stat.createdAtMs,
    deadlineMs: stat.modifiedAtMs + ttlMs,
    refresh: stat.modifiedZxid,
    metadata,
  };
  return { path, stat, ttlMs, session, entry };
}
