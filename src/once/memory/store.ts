import type { CallOptions } from '../../coordinators/index.js';
import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { type Known, requireInstance, requireKnown } from '../../errors/checks.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  OnceBeginRequest,
  OnceBeginResult,
  OnceEndRequest,
  OnceEndResult,
  OncePromises,
  OnceSettleRequest,
  OnceSettleResult,
  OnceStore,
  OnceUnknownOptions,
} from '../contract.js';
import type { OnceRecord } from '../records.js';
import {
  checkBegin,
  checkCall,
  checkEnd,
  checkLimit,
  checkSettle,
  checkUnknownOptions,
  validateKey,
} from '../requests.js';
import { decideBegin, decideEnd, decideSettle, recordOf } from '../rules/decisions.js';
import { MemoryKeys } from './state.js';

export interface MemoryOnceOptions {
  /** This client's own clocks and timers; they bound its calls. Default: those of the state. */
  readonly runtime?: Runtime;
  /** The network to the state. Default: everything arrives, two microtasks later. */
  readonly link?: MemoryLink;
}

/**
 * Keys in the memory of this process: for tests, simulations and programs that are one process. Stores made from one
 * `state` see the same keys.
 */
export function memoryOnce(
  state: MemoryKeys = new MemoryKeys(),
  options: MemoryOnceOptions = {},
): OnceStore {
  return new OnceInMemory(state, options);
}

const optionKeys: Known<MemoryOnceOptions> = { runtime: true, link: true };

class OnceInMemory implements OnceStore {
  readonly promises: OncePromises = {
    store: 'memory',
    durability: 'process',
    limits: 'Everything is forgotten when this process ends, and no other process knows of it.',
  };
  readonly #state: MemoryKeys;
  readonly #caller: MemoryCaller;

  constructor(state: MemoryKeys, options: MemoryOnceOptions) {
    this.#state = requireInstance('state', state, MemoryKeys);
    const { link } = requireKnown('options', options, optionKeys);
    const runtime = requireRuntime(options.runtime ?? state.runtime);
    const nowMs = () => state.elapsedMs();
    this.#caller = new MemoryCaller({
      what: 'memory keys',
      runtime,
      link: requireLink(link),
      nowMs,
    });
  }

  async begin(request: OnceBeginRequest, call: CallOptions): Promise<OnceBeginResult> {
    const checked = checkBegin(request);
    const { key, timeoutMs } = checked;
    return this.#caller.call('begin', checkCall(call), () => {
      const { outcome, stored, isChanged } = decideBegin(this.#state.find(key), checked);
      if (isChanged) this.#state.put(key, stored, timeoutMs);
      return { outcome, record: this.#shown(key) };
    });
  }

  async end(request: OnceEndRequest, call: CallOptions): Promise<OnceEndResult> {
    const checked = checkEnd(request);
    const { key } = checked;
    return this.#caller.call('end', checkCall(call), () => {
      const decision = decideEnd(this.#state.find(key), checked);
      if (decision.outcome === 'superseded')
        return { outcome: 'superseded', record: this.#record(key) };
      if (decision.isChanged) this.#state.put(key, decision.stored);
      return { outcome: 'recorded', record: this.#shown(key) };
    });
  }

  async settle(request: OnceSettleRequest, call: CallOptions): Promise<OnceSettleResult> {
    const checked = checkSettle(request);
    const { key } = checked;
    return this.#caller.call('settle', checkCall(call), () => {
      const decision = decideSettle(this.#state.find(key), checked);
      if (decision.outcome === 'refused') return { outcome: 'refused', record: this.#record(key) };
      if (decision.isChanged) this.#state.put(key, decision.stored);
      return { outcome: 'settled', record: this.#shown(key) };
    });
  }

  async read(key: string, call: CallOptions): Promise<OnceRecord | undefined> {
    validateKey(key);
    return this.#caller.call('read', checkCall(call), () => this.#record(key));
  }

  async unknown(options: OnceUnknownOptions, call: CallOptions): Promise<OnceRecord[]> {
    const { limit, after } = checkUnknownOptions(options);
    return this.#caller.call('unknown', checkCall(call), () =>
      [...this.#state.keys.keys()]
        .map((key) => this.#record(key))
        .filter((record) => record?.state === 'unknown')
        .map((record) => record as OnceRecord)
        .sort(byDeadline)
        .filter((record) => after === undefined || byDeadline(record, after) > 0)
        .slice(0, limit),
    );
  }

  async forget(limit: number, call: CallOptions): Promise<number> {
    checkLimit(limit);
    return this.#caller.call('forget', checkCall(call), () => {
      const keys = [...this.#state.keys.keys()];
      const expired = keys.filter((key) => this.#record(key) === undefined).slice(0, limit);
      for (const key of expired) this.#state.keys.delete(key);
      return expired.length;
    });
  }

  async close(): Promise<void> {
    this.#caller.close();
  }

  #record(key: string): OnceRecord | undefined {
    return recordOf(key, this.#state.find(key));
  }

  #shown(key: string): OnceRecord {
    return this.#record(key) as OnceRecord;
  }
}

type Place = Pick<OnceRecord, 'deadlineAtMs' | 'key'>;

function byDeadline(one: Place, other: Place): number {
  const byKey = one.key === other.key ? 0 : one.key < other.key ? -1 : 1;
  return one.deadlineAtMs - other.deadlineAtMs || byKey;
}
