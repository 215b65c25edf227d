import type {
  Deadline,
  EtcdCompare,
  EtcdKeyValue,
  EtcdOperation,
  KeyRange,
} from '../../drivers/etcd/index.js';
import type { Instant } from '../../time/index.js';
import type { EtcdKeys } from './keys.js';
import type { View } from './reader.js';
import type { StepsParts } from './step.js';
import { StoreLeases } from './store-leases.js';

/** What is to be written if nothing that was read has changed, and what is then in the store by it. */
export interface Plan {
  readonly compares: EtcdCompare[];
  readonly operations: EtcdOperation[];
  /** To be noted once it was written, with the revision in which it was. */
  readonly effects: ((revision: number) => void)[];
}

export interface PlanOptions extends StepsParts {
  readonly view: View;
  /** When the call began: store leases are to be extended after that. */
  readonly since: Instant;
  readonly what: string;
  readonly deadline: Deadline;
  /** The offset of terms that this step needs. */
  readonly offset: number;
  /** What a renewal writes hangs on our own store lease from then on; what an operator writes stays where it is. */
  readonly isByHolder: boolean;
  /** The store lease of histories is known to be gone. */
  readonly needsHistoryLease: boolean;
}

/** A plan that is being made. */
export class Draft {
  readonly options: PlanOptions;
  readonly plan: Plan = { compares: [], operations: [], effects: [] };

  constructor(options: PlanOptions) {
    this.options = options;
  }

  get keys(): EtcdKeys {
    return this.options.keys;
  }

  /** The revisions of what was read; of a key that was not there, that it is not. */
  expect(key: string, kv: EtcdKeyValue | undefined): void {
    this.plan.compares.push({ range: { key }, mod: kv?.modRevision ?? 0 });
  }

  put(key: string, value: string, lease: string): void {
    this.plan.operations.push({ kind: 'put', key, value, lease });
  }

  delete(range: KeyRange): void {
    this.plan.operations.push({ kind: 'delete', range });
  }

  /** To be done once it was written. */
  afterwards(effect: (revision: number) => void): void {
    this.plan.effects.push(effect);
  }

  now(): Instant {
    return this.options.client.runtime.now();
  }

  /** The shared store lease for what lives so long. */
  extended(durationMs: number): Promise<string> {
    const { leases, since, what, deadline } = this.options;
    return leases.extended(StoreLeases.seconds(durationMs), since, what, deadline);
  }

  /** A store lease for one thing alone. */
  single(durationMs: number): Promise<string> {
    const { leases, what, deadline } = this.options;
    return leases.single(durationMs, what, deadline);
  }
}
