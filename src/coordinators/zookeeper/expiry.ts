import {
  errorCode,
  isZooKeeperError,
  type NodeOperation,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import { afterExpiry } from '../rules/record.js';
import type { Call } from './call.js';
import type { LoadedName, NameLoader } from './loading.js';
import { nodeOrNothing } from './nodes.js';
import type { RenewalsOptions } from './renewals.js';
import { unless } from './sessions.js';
import { endedHistory, leaseOf } from './snapshots.js';
import { encodeState, type NameState } from './state.js';
import type { TendedNode } from './tended.js';

export interface ExpiryOptions extends RenewalsOptions {
  readonly loader: NameLoader;
  /** Runs it as a call of its own. */
  within(attempt: (call: Call) => Promise<void>): Promise<void>;
  /** Names that have no owner any more. */
  ended(names: readonly string[]): void;
}

/** When what could not be ended now is tried again. */
const retryMs = 100;

/**
 * Ends leases and candidates that this process has let run out: their session lives on with the process, so the ensemble
 * would keep them. Judged by this process's monotonic clock, from the last renewal it had an answer to; what somebody else
 * renewed meanwhile shows in its node.
 */
export class Expiry {
  readonly #options: ExpiryOptions;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  async end(nodes: readonly TendedNode[]): Promise<void> {
    const { within, tended } = this.#options;
    try {
      await within((call) => this.#endAll(call, nodes));
    } catch {
      // Unreachable: if that lasts, the session ends, and with it everything that went with it.
      for (const node of nodes) if (tended.get(node.path) === node) tended.postpone(node, retryMs);
    }
  }

  async #endAll(call: Call, nodes: readonly TendedNode[]): Promise<void> {
    const { sessions, paths, loader } = this.#options;
    const control = await call.connection(sessions.control);
    await call.ask(control, () => control.sync(paths.root));
    const leases = nodes.filter(({ kind }) => kind === 'lease');
    const names = [...new Set(leases.map(({ name }) => name))];
    const loaded = new Map(
      (await loader.load(call, control, names)).map((one) => [one.name, one] as const),
    );
    const ended: string[] = [];
    await Promise.all(
      nodes.map(async (node) => {
        const name = loaded.get(node.name);
        if (node.kind === 'candidate' || name === undefined || !this.#isOf(node, name))
          await this.#endNode(call, control, node);
        else if (await this.#endLease(call, control, node, name)) ended.push(node.name);
      }),
    );
    if (ended.length > 0) this.#options.ended(ended);
  }

  #isOf(node: TendedNode, { name, state, leaseNode }: LoadedName): boolean {
    if (state.lease === undefined || leaseNode === undefined) return false;
    return this.#options.paths.lease(name, state.lease.attempt) === node.path;
  }

  /** A node that no text tells of: a candidate's, or what is left where somebody else wrote over the text. */
  async #endNode(call: Call, control: ZooKeeperConnection, node: TendedNode): Promise<void> {
    const { tended } = this.#options;
    const found = await nodeOrNothing(call, control, node.path);
    if (found !== undefined && this.#wasRenewed(node, found.stat.modifiedZxid, node.ttlMs)) return;
    if (found !== undefined) {
      const { version } = found.stat;
      await call
        .write(control, () => control.multi([{ kind: 'delete', path: node.path, version }]))
        .catch(unless(errorCode.noNode, errorCode.badVersion));
    }
    // Not before that: until it is answered, the node may still be there.
    if (tended.get(node.path) === node) tended.forget(node.path);
  }

  /** Somebody has written to it since we last did: it lives on from now. */
  #wasRenewed(node: TendedNode, modifiedZxid: number, ttlMs: number): boolean {
    if (node.modifiedZxid === modifiedZxid) return false;
    this.#options.tended.renewed(node, ttlMs, modifiedZxid);
    return true;
  }

  /** @returns whether the name has no owner now. */
  async #endLease(
    call: Call,
    control: ZooKeeperConnection,
    node: TendedNode,
    { name, stat, state, leaseNode }: LoadedName,
  ): Promise<boolean> {
    const { clock, sessions, paths, tended } = this.#options;
    const { lease } = state;
    if (lease === undefined || leaseNode === undefined || stat === undefined) return false;
    if (this.#wasRenewed(node, leaseNode.stat.modifiedZxid, leaseNode.ttlMs)) return false;
    const nowMs = clock.nowMs();
    const stored = { ...leaseOf(lease, leaseNode, nowMs), deadlineMs: nowMs };
    const after = afterExpiry(stored);
    const endedAtMs = Math.min(nowMs, leaseNode.stat.modifiedAtMs + leaseNode.ttlMs);
    const next: NameState = {
      ...((after?.kind === 'lock-delay' || after?.kind === 'reservation') && { after }),
      suspension: state.suspension,
      history: endedHistory(state.history ?? [], lease, endedAtMs),
    };
    const operations: NodeOperation[] = [
      { kind: 'set', path: sessions.guardOf(control), data: Buffer.alloc(0) },
      { kind: 'set', path: paths.name(name), data: encodeState(next), version: stat.version },
      { kind: 'delete', path: node.path, version: leaseNode.stat.version },
    ];
    try {
      await call.write(control, () => control.multi(operations));
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.badVersion, errorCode.noNode)) throw error;
      // It was released, revoked or renewed just now.
      tended.postpone(node, 1);
      return false;
    }
    tended.forget(node.path);
    return after?.kind !== 'lock-delay';
  }
}
