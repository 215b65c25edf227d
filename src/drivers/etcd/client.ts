import type { Deadline } from './deadline.js';
import { LeaseExists } from './errors.js';
import {
  type EtcdCompare,
  type EtcdOperation,
  safeInteger,
  type TxnReply,
  txnBody,
  txnReply,
} from './kv.js';
import { Members } from './members.js';

/** What is asked of a cluster: transactions and store leases. */
export class EtcdClient extends Members {
  #highestRevision = 0;

  /** Reads without a condition; may be sent twice. */
  async read(
    operations: readonly EtcdOperation[],
    what: string,
    deadline: Deadline,
  ): Promise<TxnReply> {
    const known = this.#highestRevision;
    const body = txnBody([], operations);
    const raw = await this.call({ path: '/v3/kv/txn', body, what, deadline, isRepeatable: true });
    return this.#noteRevision(txnReply(raw), known);
  }

  /** Executes `operations` if all comparisons hold, else `otherwise`. */
  async txn(
    compares: readonly EtcdCompare[],
    operations: readonly EtcdOperation[],
    what: string,
    deadline: Deadline,
    isRepeatable = false,
    otherwise: readonly EtcdOperation[] = [],
  ): Promise<TxnReply> {
    const known = this.#highestRevision;
    const body = txnBody(compares, operations, otherwise);
    const raw = await this.call({ path: '/v3/kv/txn', body, what, deadline, isRepeatable });
    return this.#noteRevision(txnReply(raw), known);
  }

  /** Makes a store lease of at least so many seconds. @returns how many it has got. */
  async grantLease(id: string, seconds: number, what: string, deadline: Deadline): Promise<number> {
    const body = JSON.stringify({ TTL: String(seconds), ID: id });
    const path = '/v3/lease/grant';
    try {
      const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
      return safeInteger((raw as { TTL?: string }).TTL);
    } catch (error) {
      if (!(error instanceof LeaseExists)) throw error;
      return (await this.keepAlive(id, what, deadline)) ?? 0;
    }
  }

  /** @returns the ttl in seconds; `undefined`: there is no such lease any more, which the server does not call an error. */
  async keepAlive(id: string, what: string, deadline: Deadline): Promise<number | undefined> {
    const body = JSON.stringify({ ID: id });
    const path = '/v3/lease/keepalive';
    const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
    const { result } = raw as { result?: { TTL?: string } };
    const seconds = safeInteger(result?.TTL);
    return seconds > 0 ? seconds : undefined;
  }

  /** @returns whole seconds that remain, and that it had; `undefined`: there is no such lease any more. */
  async timeToLive(
    id: string,
    what: string,
    deadline: Deadline,
  ): Promise<{ remaining: number; granted: number } | undefined> {
    const body = JSON.stringify({ ID: id });
    const path = '/v3/lease/timetolive';
    const raw = await this.call({ path, body, what, deadline, isRepeatable: true });
    const { TTL, grantedTTL } = raw as { TTL?: string; grantedTTL?: string };
    const remaining = safeInteger(TTL);
    if (remaining < 0 || grantedTTL === undefined) return undefined;
    return { remaining, granted: safeInteger(grantedTTL) };
  }

  /** A later answer to a later question is never of an earlier revision, unless the cluster forgot some. */
  #noteRevision(reply: TxnReply, known: number): TxnReply {
    if (reply.revision < known) {
      this.warnOnce(
        `the cluster went back from revision ${known} to ${reply.revision}: an old snapshot was restored, or data were lost. Terms begin below earlier ones; fences refuse them until the name is acquired above the term that they know. Restore with --bump-revision where etcdutl has it.`,
      );
      this.#highestRevision = reply.revision;
    } else this.#highestRevision = Math.max(this.#highestRevision, reply.revision);
    return reply;
  }
}
