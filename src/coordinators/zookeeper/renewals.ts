import {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  type NodeOperation,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import type { RenewRequest } from '../contract.js';
import { allOf, type Call } from './call.js';
import type { ZooKeeperPaths } from './paths.js';
import type { ServerClock } from './server-clock.js';
import type { LeaseSession, Sessions } from './sessions.js';
import { encodeLease } from './state.js';
import type { TendedNode, TendedNodes } from './tended.js';

export interface RenewalsOptions {
  readonly paths: ZooKeeperPaths;
  readonly sessions: Sessions;
  readonly clock: ServerClock;
  readonly tended: TendedNodes;
}

interface Renewal {
  readonly request: RenewRequest;
  readonly node: TendedNode;
}

/** How many leases one transaction renews: a packet has to fit into a megabyte, metadata included. */
const renewalsPerMulti = 128;

/**
 * Renewals of what this process holds, as far as it knows: one transaction writes to the leases' own nodes, if the names'
 * nodes are as they were when they were granted. That nobody has revoked, released or replaced a lease is so checked in
 * the step itself, without reading anything.
 *
 * It goes over the connection of the session that the leases go with, and no other: only what the ensemble hears there
 * keeps the session. A renewal over another connection could be answered at the very moment at which the session ends.
 */
export class Renewals {
  readonly #options: RenewalsOptions;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /** @returns the names whose leases were renewed; the others have to be looked at. */
  async renew(call: Call, requests: readonly RenewRequest[]): Promise<Set<string>> {
    const renewals = requests.flatMap((request) => this.#known(request) ?? []);
    const renewed = new Set<string>();
    if (renewals.length === 0) return renewed;
    const control = await call.connection(this.#options.sessions.control);
    const guard = this.#options.sessions.guardOf(control);
    await allOf(
      bundles(renewals).map(async (bundle) => {
        if (!(await this.#commit(call, guard, bundle))) return;
        for (const { request } of bundle) renewed.add(request.name);
      }),
    );
    return renewed;
  }

  #known(request: RenewRequest): Renewal | undefined {
    const node = this.#options.tended.leaseOf(request.name);
    const isKnown =
      node?.holder?.equals(request.holder) === true &&
      node.term === request.term &&
      node.nameVersion !== undefined &&
      node.modifiedZxid !== undefined &&
      node.session.ttlMs >= request.ttlMs &&
      !node.session.link.isOver &&
      !this.#options.tended.isOver(node);
    return isKnown ? { request, node } : undefined;
  }

  async #commit(call: Call, guard: string, bundle: readonly Renewal[]): Promise<boolean> {
    const { sessions, paths, tended, clock } = this.#options;
    const [{ node: first }] = bundle as [Renewal];
    const connection = await call.connection(first.session.link);
    // That may have taken long. Whoever has no time left is judged with its end, and never revived.
    if (bundle.some(({ node }) => tended.isOver(node))) return false;
    const before = bundle.map(({ node }) => node.modifiedZxid);
    const operations: NodeOperation[] = [{ kind: 'set', path: guard, data: Buffer.alloc(0) }];
    for (const { request, node } of bundle) {
      const { name, ttlMs, metadata = node.metadata } = request;
      operations.push(versionCheck(paths.name(name), node.nameVersion));
      operations.push({ kind: 'set', path: node.path, data: encodeLease({ ttlMs, metadata }) });
      // Until there is an answer, nobody knows which transaction wrote it last.
      node.modifiedZxid = undefined;
    }
    try {
      const [guarded] = await call.write(connection, () => connection.multi(operations));
      if (guarded?.stat !== undefined) clock.learn(guarded.stat.modifiedAtMs);
      for (const { request, node } of bundle) {
        if (request.metadata !== undefined) node.metadata = request.metadata;
        tended.renewed(node, request.ttlMs, guarded?.stat?.modifiedZxid);
      }
      return true;
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.badVersion, errorCode.noNode)) throw error;
      if ((error as { failedIndex?: number }).failedIndex === 0)
        return loseConnection(sessions.control.connection, error as Error);
      for (const [index, { node }] of bundle.entries()) node.modifiedZxid = before[index];
      return false;
    }
  }
}

function versionCheck(path: string, version: number | undefined): NodeOperation {
  return version === undefined ? { kind: 'check', path } : { kind: 'check', path, version };
}

/** Renewals of one session, and as many as fit into one packet. */
function bundles(renewals: readonly Renewal[]): Renewal[][] {
  const bySession = new Map<LeaseSession, Renewal[]>();
  for (const renewal of renewals) {
    const { session } = renewal.node;
    const all = bySession.get(session) ?? [];
    all.push(renewal);
    bySession.set(session, all);
  }
  return [...bySession.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / renewalsPerMulti) }, (_, index) =>
      all.slice(index * renewalsPerMulti, (index + 1) * renewalsPerMulti),
    ),
  );
}

function loseConnection(connection: ZooKeeperConnection | undefined, { message }: Error): never {
  connection?.destroy(message);
  throw new ConnectionLostError(message);
}
