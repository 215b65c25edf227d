import { validateName } from '../../coordinators/index.js';
import { RedisKeys, RedisWrites } from '../../coordinators/redis/index.js';
import {
  type DuplicableRedisClient,
  type RedisConnectionEvents,
  RedisSession,
  type ScriptCall,
  slotOf,
  type Written,
} from '../../drivers/redis/index.js';
import { requireInstance } from '../../errors/checks.js';
import { OptionError, StoreRefusedError, type TenureError } from '../../errors/index.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import type { EndReason } from '../../leases/index.js';
import { runBatches } from '../batch.js';
import type { Fence, FencePromises, FencingToken } from '../contract.js';
import { corruptEffect, corruptTerm } from '../corrupt.js';
import { endedOf, refusalOf } from '../refusal.js';
import {
  type Candidate,
  type Effect,
  validateEffect,
  validateToken,
  validateWork,
} from '../rule.js';
import { RedisBatch } from './batch.js';
import { batchCall, installedText, singleOf } from './call.js';
import { executedInPart, type Failure, notConfirmed, refused } from './failures.js';
import { Gathering, type SingleCommand } from './gathering.js';
import { FenceKeys } from './keys.js';
import {
  type RedisFenceOptions,
  type ResolvedOptions,
  requireNoPrefix,
  resolveOptions,
} from './options.js';
import { batchScript, effectScript, leasedBatchScript, termScript } from './scripts.js';
import { SingleBatch } from './single-batch.js';

/** A fence around what is written to one Redis. See {@link redisFence}. */
export interface RedisFence extends Fence<RedisBatch>, EventSource<RedisConnectionEvents> {
  /**
   * With its braces: on a cluster, every key that is written through the fence begins with it.
   */
  readonly hashTag: string;
}

/**
 * A fence in Redis (7.0 or later): `transaction` collects commands, and one script checks the term and executes them, or
 * none of them.
 *
 * Redis takes nothing back: a command that fails inside the script leaves those before it executed, and the call rejects
 * with `OutcomeUnknownError`. Types of keys, memory and the right to write are looked at before the first.
 *
 * Terms are kept as the server keeps its data. A fence that has seen a name installed, and finds it gone, refuses the next
 * write of it (`StoreRefusedError` with `FENCE_LOST`) until it is claimed anew; one that begins then cannot know.
 *
 * @param urlOrClient as for `redisCoordinator`. Of a client only the options are used; one with a `keyPrefix` is refused, since a
 * batch takes keys as they are.
 * @throws {OptionError} if the URL, the client or an option cannot be used. Nothing is connected yet; a server that may evict
 * keys is refused with `StoreMisconfiguredError` at the first call.
 */
export function redisFence(
  urlOrClient: string | URL | DuplicableRedisClient,
  options: RedisFenceOptions = {},
): RedisFence {
  requireNoPrefix(urlOrClient);
  return new FenceInRedis(urlOrClient, options, resolveOptions(options));
}

const what = 'the Redis fence';
/** The `storeCode` of a write to a name whose term is gone. */
const lostCode = 'FENCE_LOST';
/** Names that a fence knows to have been installed; those it has not seen for longest are forgotten first. */
const rememberedCount = 65_536;

class FenceInRedis implements RedisFence {
  readonly promises: FencePromises = {
    resource: 'redis',
    atomicWithEffect: true,
    durability: 'process',
    writersOfOneTerm: 'concurrent',
    limits:
      'Nothing is rolled back: a command that fails inside the batch leaves those before it executed, and the outcome counts as unknown. Terms and effects survive a restart or a failover as far as the server keeps its data through it.',
  };
  readonly #options: ResolvedOptions;
  readonly #session: RedisSession;
  readonly #writes: RedisWrites;
  readonly #keys: FenceKeys;
  readonly #leases: RedisKeys | undefined;
  /** Names that this fence has seen installed. */
  readonly #installed = new Set<string>();
  /** The one that was seen last. */
  #latest: string | undefined;
  readonly #singles = new Gathering((script, call, taker) => {
    const { timeoutMs, confirmation } = this.#options;
    this.#session.connection.begin(script, call, timeoutMs, confirmation, taker);
  });
  readonly #checkKey = (key: string) => this.#checkKeyOfBatch(key);
  readonly #openBatch = () => new RedisBatch(this, this.#checkKey);
  /** Tokens that were checked before, as they were then: each write shows one, and most show the same. */
  readonly #accepted = new WeakMap<FencingToken, Accepted>();

  constructor(
    urlOrClient: string | URL | DuplicableRedisClient,
    given: RedisFenceOptions,
    options: ResolvedOptions,
  ) {
    const { namespace, hashTag, leases, confirmation, runtime } = options;
    this.#options = options;
    this.#keys = new FenceKeys(hashTag, namespace);
    this.#leases = leases === undefined ? undefined : new RedisKeys(leases);
    const slotKey = this.hashTag;
    this.#session = new RedisSession(what, urlOrClient, { ...given, runtime, slotKey });
    this.#writes = new RedisWrites(this.#session, confirmation);
    if (this.#leases !== undefined && !this.#isInSlot(this.#leases.term)) {
      const remedy = 'on a cluster, leave it out, or give the leases to a server of their own';
      throw new OptionError('hashTag', hashTag, 'is not in the slot of the leases', remedy);
    }
  }

  get hashTag(): string {
    return this.#keys.hashTag;
  }

  on<Name extends keyof RedisConnectionEvents>(
    name: Name,
    listener: (event: RedisConnectionEvents[Name]) => void,
  ): Unsubscribe {
    return this.#session.on(name, listener);
  }

  async claim(token: FencingToken): Promise<void> {
    const accepted = this.#accept(token);
    await this.#execute(`the claim of "${accepted.name}"`, accepted, undefined);
  }

  async transaction<Result>(
    token: FencingToken,
    work: (batch: RedisBatch) => Promise<Result>,
  ): Promise<Result> {
    const accepted = this.#accept(token);
    validateWork(work);
    return await runBatches(accepted.title, this.#openBatch, work, (batch) =>
      this.#executeBatch(accepted, batch),
    );
  }

  async recordOnce(
    batch: RedisBatch,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    requireInstance('batch', batch, RedisBatch);
    if (batch.owner !== this) {
      const remedy = 'pass the one that fence.transaction hands to its work';
      throw new OptionError('batch', 'of another fence', 'is not one of this fence', remedy);
    }
    const check = () => {
      this.#session.throwIfClosed();
      validateEffect(scope, key, seq, id);
      return { scope, key, seq, id };
    };
    return await batch.recordOnce(check, (effect) => this.#recordedId(effect));
  }

  async installedTerm(name: string): Promise<number | undefined> {
    this.#session.throwIfClosed();
    validateName(name);
    const script = { ...termScript, name: `the reading of the term of "${name}"` };
    const term = await this.#read(script, this.#keys.term(name));
    if (term === 'corrupt') throw corruptTerm(`what stands under "${this.#keys.term(name)}"`);
    return term === undefined ? undefined : Number(term);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #recordedId(effect: Effect): Promise<string | undefined> {
    const id = await this.#read(effectScript, this.#keys.effect(effect));
    if (Array.isArray(id)) throw corruptEffect(`what stands under "${this.#keys.effect(effect)}"`);
    return id === undefined ? undefined : String(id);
  }

  async #read(script: typeof termScript, key: string): Promise<unknown> {
    const { timeoutMs } = this.#options;
    return (await this.#session.connection.run(script, [key], [], timeoutMs)) ?? undefined;
  }

  /** @returns `false`: an effect was recorded meanwhile, and nothing was executed. */
  #executeBatch(accepted: Accepted, batch: RedisBatch): Promise<boolean> {
    this.#session.throwIfClosed();
    const command = this.#singleOf(accepted, batch);
    if (command === undefined) return this.#execute(accepted.title, accepted, batch);
    return new Promise((resolve, reject) => {
      const anew = () => resolve(this.#execute(accepted.title, accepted, batch));
      const refuse = (failure: Failure) => reject(this.#refused(failure));
      const remember = () => this.#remember(accepted.name);
      const single = new SingleBatch(command, accepted.title, batch, {
        resolve,
        reject,
        refuse,
        anew,
        remember,
      });
      this.#singles.add(accepted.key, accepted.installed, single);
    });
  }

  /** The command of a batch that holds no more than that, of a term that is known to be installed; else `undefined`. */
  #singleOf({ name }: Accepted, batch: RedisBatch): SingleCommand | undefined {
    if (this.#leases !== undefined || !this.#installed.has(name)) return undefined;
    return singleOf(batch);
  }

  async #execute(
    title: string,
    candidate: Candidate,
    batch: RedisBatch | undefined,
  ): Promise<boolean> {
    this.#session.throwIfClosed();
    const { name } = candidate;
    const { keys, value, shortfall } = await this.#run(title, candidate, batch);
    const [verdict, detail, place] = value as [string, unknown, unknown];
    switch (verdict) {
      case 'done': {
        this.#remember(name);
        const missing = await shortfall;
        if (missing !== undefined) throw notConfirmed(title, missing);
        batch?.answer(detail as unknown[]);
        return true;
      }
      case 'changed':
        return false;
      case 'stale':
        throw refusalOf(candidate, { term: Number(detail), holderDigest: '' });
      case 'ended':
        throw endedOf(candidate, detail as EndReason);
      case 'lost':
        throw new StoreRefusedError(
          lostCode,
          `${title} was refused: the term of "${name}" was installed and is gone, so the server has lost data, and an earlier owner may have written since. Claim it, and read again what you know.`,
        );
      case 'failed':
        throw this.#refused({ title, batch, place, words: detail });
      case 'part':
        this.#remember(name);
        throw executedInPart({ title, batch, place, words: detail });
      case 'type':
        throw new StoreRefusedError(
          'WRONGTYPE',
          `${title} was refused: what stands under "${keys[Number(detail) - 1]}" is not of the type that its first command there needs; nothing was executed.`,
        );
      default:
        throw corruptTerm(`what stands under "${this.#keys.term(name)}"`);
    }
  }

  #refused(failure: Failure): TenureError {
    const { connection, topology } = this.#session;
    return refused(failure, { address: connection.address, topology });
  }

  async #run(
    title: string,
    candidate: Candidate,
    batch: RedisBatch | undefined,
  ): Promise<Written & Pick<ScriptCall, 'keys'>> {
    const { effectLifeMs, timeoutMs } = this.#options;
    const leases = this.#leases;
    // A claim says that its owner begins, and reads what there is now.
    const mustBeInstalled = batch !== undefined && this.#installed.has(candidate.name);
    const call = { candidate, batch, mustBeInstalled, effectLifeMs, leases };
    const { keys, args } = batchCall(this.#keys, call);
    const shared = leases === undefined ? batchScript : leasedBatchScript;
    const script = { ...shared, name: title };
    return { ...(await this.#writes.write(script, keys, args, timeoutMs)), keys };
  }

  #remember(name: string): void {
    if (name === this.#latest) return;
    this.#latest = name;
    // At the end of the set's order, whose beginning is forgotten.
    this.#installed.delete(name);
    this.#installed.add(name);
    const [longestUnused] = this.#installed;
    if (this.#installed.size > rememberedCount && longestUnused !== undefined)
      this.#installed.delete(longestUnused);
  }

  #checkKeyOfBatch(key: string): void {
    if (this.#keys.isOwn(key)) {
      const remedy = 'choose other keys';
      throw new OptionError('key', key, "is one of the fence's own", remedy);
    }
    if (this.#isInSlot(key)) return;
    throw new OptionError(
      'key',
      key,
      'is in another slot of the cluster than the fence, so one step cannot write it',
      `begin it with ${this.hashTag}, or choose the hashTag of the fence to fit`,
    );
  }

  /** There are slots on a cluster only. */
  #isInSlot(key: string): boolean {
    return this.#session.topology !== 'cluster' || slotOf(key) === slotOf(this.hashTag);
  }

  #accept(token: FencingToken): Accepted {
    this.#session.throwIfClosed();
    const before = this.#accepted.get(token);
    if (before !== undefined && isAsBefore(token, before)) return before;
    const candidate = validateToken('redis', token);
    const accepted = {
      ...candidate,
      title: `the batch under "${candidate.name}"`,
      key: this.#keys.term(candidate.name),
      installed: installedText(candidate),
    };
    this.#accepted.set(token, accepted);
    return accepted;
  }
}

/** A token, checked, and what is made of it for each batch. */
interface Accepted extends Candidate {
  /** For messages. */
  readonly title: string;
  /** Under which its term stands. */
  readonly key: string;
  /** What stands there while it is installed. */
  readonly installed: string;
}

/** It is the caller's object, who may have changed it. */
function isAsBefore({ name, term, holder }: FencingToken, before: Accepted): boolean {
  return name === before.name && term === before.term && holder?.digest === before.holderDigest;
}
