import { validateName } from '../../coordinators/index.js';
import {
  EtcdClient,
  type EtcdCompare,
  type EtcdEvents,
  type EtcdKeyValue,
  type EtcdLocation,
  type EtcdOperation,
  etcdLocation,
  type KeyRange,
} from '../../drivers/etcd/index.js';
import { type Known, requireInstance, requireKnown } from '../../errors/checks.js';
import { OptionError, StoreRefusedError } from '../../errors/index.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import { runBatches } from '../batch.js';
import type { Fence, FencePromises, FencingToken } from '../contract.js';
import { refusalOf } from '../refusal.js';
import {
  type Candidate,
  type Effect,
  judge,
  validateEffect,
  validateToken,
  validateWork,
} from '../rule.js';
import { EtcdBatch } from './batch.js';
import { type EtcdFenceOptions, type ResolvedOptions, resolveOptions } from './options.js';
import { installedText, leaseCondition, parseInstalled } from './standing.js';

/** A fence around what is written to one etcd cluster. See {@link etcdFence}. */
export interface EtcdFence extends Fence<EtcdBatch>, EventSource<EtcdEvents> {}

const optionKeys: Known<EtcdFenceOptions> = {
  namespace: true,
  prefix: true,
  leases: true,
  timeoutMs: true,
  tls: true,
  runtime: true,
};

/**
 * A fence in an etcd cluster, 3.4 or later: `transaction` collects writes, and one transaction of etcd compares the fence's
 * key and executes them, or none of them. Needs no package.
 *
 * @param location as for `etcdCoordinator`.
 * @throws {OptionError} if the location or an option cannot be used. Nothing is connected yet.
 */
export function etcdFence(
  location: string | URL | readonly string[],
  options: EtcdFenceOptions = {},
): EtcdFence {
  const { tls } = requireKnown('options', options, optionKeys);
  return new FenceInEtcd(etcdLocation(location, tls), resolveOptions(options));
}

/** What was read of a name: under which conditions a token passes, and whether it has to be installed. */
interface Passage {
  readonly compares: readonly EtcdCompare[];
  readonly isInstalled: boolean;
  readonly isAnyRecorded: boolean;
}

/** How often a batch is sent, if the fence's key or that of the lease is changed each time before it is executed. */
const mostRounds = 16;

class FenceInEtcd implements EtcdFence {
  readonly promises: FencePromises = {
    resource: 'etcd',
    atomicWithEffect: true,
    durability: 'crash',
    writersOfOneTerm: 'concurrent',
    limits:
      'A snapshot that is restored takes the installed terms back with all else: claim anew before anything is written then.',
  };
  readonly #options: ResolvedOptions;
  readonly #client: EtcdClient;
  readonly #passages = new WeakMap<EtcdBatch, Passage>();

  constructor(location: EtcdLocation, options: ResolvedOptions) {
    this.#options = options;
    const { runtime } = options;
    this.#client = new EtcdClient({ what: 'the etcd fence', location, runtime });
  }

  on<Name extends keyof EtcdEvents>(
    name: Name,
    listener: (event: EtcdEvents[Name]) => void,
  ): Unsubscribe {
    return this.#client.events.on(name, listener);
  }

  async claim(token: FencingToken): Promise<void> {
    const candidate = this.#accept(token);
    const title = `the claim of "${candidate.name}"`;
    const passage = await this.#look(title, candidate, []);
    if (!passage.isInstalled) await this.#execute(title, candidate, undefined, passage);
  }

  async transaction<Result>(
    token: FencingToken,
    work: (batch: EtcdBatch) => Promise<Result>,
  ): Promise<Result> {
    const candidate = this.#accept(token);
    validateWork(work);
    const title = `the batch under "${candidate.name}"`;
    return await runBatches(
      title,
      async () => {
        const comparedCount = this.#options.leases === undefined ? 1 : 2;
        const batch = new EtcdBatch(this.#options.keys, comparedCount);
        this.#passages.set(batch, await this.#look(title, candidate, []));
        return batch;
      },
      work,
      async (batch) => {
        batch.checkSize();
        return await this.#execute(title, candidate, batch, this.#passageOf(batch));
      },
    );
  }

  async recordOnce(
    batch: EtcdBatch,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    this.#passageOf(requireInstance('batch', batch, EtcdBatch));
    const check = () => {
      this.#client.throwIfClosed();
      validateEffect(scope, key, seq, id);
      return { scope, key, seq, id };
    };
    return await batch.recordOnce(check, (effect) => this.#recordedId(effect));
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#client.throwIfClosed();
    validateName(name);
    const what = `reading the term of "${name}"`;
    const [found] = await this.#read(what, [{ key: this.#options.keys.term(name) }]);
    const [key] = found ?? [];
    return key === undefined ? undefined : parseInstalled(name, key).term;
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #recordedId(effect: Effect): Promise<string | undefined> {
    const range = { key: this.#options.keys.effect(effect) };
    const [found] = await this.#read('reading a recorded effect', [range]);
    return found?.[0]?.value;
  }

  /**
   * Reads what there is of the name, and judges the token by it.
   *
   * @throws {StaleTermError} @throws {LeaseEndedError}
   */
  async #look(title: string, candidate: Candidate, effects: readonly Effect[]): Promise<Passage> {
    const { keys, leases } = this.#options;
    const { name } = candidate;
    const key = keys.term(name);
    const ranges: KeyRange[] = [{ key }, ...effects.map((one) => ({ key: keys.effect(one) }))];
    if (leases !== undefined) ranges.push(leases.queue(name));
    const [[stored] = [], ...rest] = await this.#read(title, ranges);
    const installed = stored === undefined ? undefined : parseInstalled(name, stored);
    const verdict = judge(installed, candidate);
    if (verdict === 'refuse') throw refusalOf(candidate, installed);
    const lease =
      leases === undefined ? [] : [leaseCondition(candidate, rest[effects.length] ?? [])];
    return {
      compares: [{ range: { key }, mod: stored?.modRevision ?? 0 }, ...lease],
      isInstalled: verdict === 'pass',
      isAnyRecorded: rest.slice(0, effects.length).some((found) => found.length > 0),
    };
  }

  async #read(what: string, ranges: readonly KeyRange[]): Promise<(readonly EtcdKeyValue[])[]> {
    const gets = ranges.map((range): EtcdOperation => ({ kind: 'get', range }));
    const { found } = await this.#client.read(gets, what, this.#deadline());
    return [...found];
  }

  /** @returns `false`: an effect was recorded meanwhile, and nothing was executed. */
  async #execute(
    title: string,
    candidate: Candidate,
    batch: EtcdBatch | undefined,
    seen: Passage,
  ): Promise<boolean> {
    const { keys } = this.#options;
    const effects = batch?.recorded ?? [];
    const writes: EtcdOperation[] = [
      ...(batch?.operations ?? []),
      ...effects.map((one) => put(keys.effect(one), one.id)),
    ];
    const isNew = effects.map((one): EtcdCompare => ({ range: { key: keys.effect(one) }, mod: 0 }));
    let passage = seen;
    for (let round = 0; round < mostRounds; round++) {
      const install = put(keys.term(candidate.name), installedText(candidate));
      const operations = passage.isInstalled ? writes : [install, ...writes];
      const compares = [...passage.compares, ...isNew];
      // Nothing is sent twice: what has no answer may be executed yet, as long as the fence's key stays as it is.
      const reply = await this.#client.txn(compares, operations, title, this.#deadline());
      if (reply.succeeded) return true;
      passage = await this.#look(title, candidate, effects);
      if (passage.isAnyRecorded) return false;
    }
    throw new StoreRefusedError(
      'CONTENDED',
      `${title} met changes by others ${mostRounds} times; nothing was executed. Try again.`,
    );
  }

  #passageOf(batch: EtcdBatch): Passage {
    const passage = this.#passages.get(batch);
    if (passage !== undefined) return passage;
    const remedy = 'pass the one that fence.transaction hands to its work';
    throw new OptionError('batch', 'of another fence', 'is not one of this fence', remedy);
  }

  #deadline() {
    return this.#client.deadline(this.#options.timeoutMs);
  }

  #accept(token: FencingToken): Candidate {
    this.#client.throwIfClosed();
    return validateToken('etcd', token);
  }
}

function put(key: string, value: string): EtcdOperation {
  return { kind: 'put', key, value, lease: '0' };
}
