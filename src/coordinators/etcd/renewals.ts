import {
  type Deadline,
  type EtcdClient,
  type EtcdOperation,
  LeaseNotFound,
} from '../../drivers/etcd/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import type { RenewRequest } from '../contract.js';
import { settled } from './batches.js';
import type { HeldLease, Holdings } from './holdings.js';
import type { EtcdKeys } from './keys.js';
import { get, longestTxn } from './reader.js';
import { StoreLeases } from './store-leases.js';
import { write } from './values.js';

interface Usual {
  readonly request: RenewRequest;
  readonly holding: HeldLease;
}

/**
 * The usual renewal: one message extends the store lease for all names that hang on it. That says nothing of the keys, so
 * they are looked at too, and the time is noted for those who want to know what is left.
 */
export class Renewals {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #leases: StoreLeases;
  readonly #holdings: Holdings;

  constructor(client: EtcdClient, keys: EtcdKeys, leases: StoreLeases, holdings: Holdings) {
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    this.#holdings = holdings;
  }

  /**
   * @returns those that are extended. Of the others it is to be looked what stands there.
   * @throws {OutcomeUnknownError} if some were extended, and of others it is not known.
   */
  async extend(
    requests: readonly RenewRequest[],
    deadline: Deadline,
  ): Promise<ReadonlySet<RenewRequest>> {
    const byLease = new Map<string, Usual[]>();
    for (const request of requests) {
      const holding = this.#usual(request);
      if (holding === undefined) continue;
      const some = byLease.get(holding.leaseId) ?? [];
      some.push({ request, holding });
      byLease.set(holding.leaseId, some);
    }
    const groups = [...byLease.values()].map((some) => this.#extendSome(some, deadline));
    return new Set((await settled(groups, isSome)).flat());
  }

  /** It is held by this coordinator, and stays as it is. */
  #usual(request: RenewRequest): HeldLease | undefined {
    const holding = this.#holdings.leaseOf(request.name);
    const isUsual =
      holding !== undefined &&
      holding.term === request.term &&
      holding.holder.equals(request.holder) &&
      holding.lifeMs === request.ttlMs &&
      request.metadata === undefined &&
      !this.#holdings.isOver(holding) &&
      this.#leases.current(StoreLeases.seconds(request.ttlMs)) === holding.leaseId &&
      holding.guardId === this.#guardId(holding);
    return isUsual ? holding : undefined;
  }

  #guardId({ graceMs, lifeMs }: HeldLease): string | undefined {
    return graceMs === 0 ? undefined : this.#leases.current(StoreLeases.seconds(lifeMs + graceMs));
  }

  async #extendSome(some: readonly Usual[], deadline: Deadline): Promise<RenewRequest[]> {
    const since = this.#client.runtime.now();
    const durations = new Set(
      some.flatMap(({ holding: { lifeMs, graceMs } }) =>
        graceMs === 0 ? [lifeMs] : [lifeMs, lifeMs + graceMs],
      ),
    );
    // What hangs on a store lease ends in its time, be that extended: nothing is renewed by this alone.
    const extensions = [...durations].map((ms) =>
      this.#leases.extended(StoreLeases.seconds(ms), since, 'renew', deadline),
    );
    await settled(extensions, () => false);
    // A lease that was gone has been replaced by a new one: nothing hangs on that yet.
    const alive = some.filter(({ request }) => this.#usual(request) !== undefined);
    const parts: Promise<RenewRequest[]>[] = [];
    for (let start = 0; start < alive.length; start += longestTxn - 1)
      parts.push(this.#confirm(alive.slice(start, start + longestTxn - 1), deadline));
    return (await settled(parts, isSome)).flat();
  }

  async #confirm(some: readonly Usual[], deadline: Deadline): Promise<RenewRequest[]> {
    const [first] = some;
    if (first === undefined) return [];
    const { leaseId } = first.holding;
    const atMs = this.#client.runtime.now().wallMs;
    const note: EtcdOperation = {
      kind: 'put',
      key: this.#keys.session(leaseId),
      value: write({ atMs }),
      lease: leaseId,
    };
    const compares = some.map(({ holding: { key, modRevision: mod } }) => ({
      range: { key },
      mod,
    }));
    const gets = some.map(({ holding }) => get({ key: holding.key }));
    try {
      const reply = await this.#client.txn(compares, [note], 'renew', deadline, true, gets);
      if (reply.succeeded) {
        return some.flatMap((one) => this.#extended(one, reply.revision));
      }
      const unchanged = some.filter(
        ({ holding }, index) => reply.found[index]?.[0]?.modRevision === holding.modRevision,
      );
      // Less each time: at least one of them was not as it should be.
      return await this.#confirm(unchanged.slice(0, some.length - 1), deadline);
    } catch (error) {
      if (isFull(error)) return await this.#confirmWithoutNote(some, gets, deadline);
      if (!(error instanceof LeaseNotFound)) throw error;
      this.#leases.forget(leaseId);
      return [];
    }
  }

  /** A database that is full takes no note; that is no reason to lose a lease. */
  async #confirmWithoutNote(
    some: readonly Usual[],
    gets: readonly EtcdOperation[],
    deadline: Deadline,
  ): Promise<RenewRequest[]> {
    const { found, revision } = await this.#client.read(gets, 'renew', deadline);
    return some.flatMap((one, index) =>
      found[index]?.[0]?.modRevision === one.holding.modRevision
        ? this.#extended(one, revision)
        : [],
    );
  }

  /** Unless its time was over before the answer came: its end is on its way then. */
  #extended({ request, holding }: Usual, revision: number): RenewRequest[] {
    if (this.#holdings.leaseOf(request.name) !== holding || this.#holdings.isOver(holding))
      return [];
    this.#holdings.extendLease(holding, revision);
    return [request];
  }
}

const isSome = (extended: readonly RenewRequest[]): boolean => extended.length > 0;

function isFull(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === 'NOSPACE';
}
