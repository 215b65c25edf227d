import type { Deadline, EtcdClient } from '../../drivers/etcd/index.js';
import type { SnapshotLedger } from '../rules/snapshot.js';
import type { Holding, Holdings } from './holdings.js';
import type { EtcdKeys } from './keys.js';
import type { OwnWhereabouts, Sought } from './own.js';
import type { View } from './reader.js';
import type { StoreLeases } from './store-leases.js';
import type { Voiding } from './voiding.js';

/** What one operation does with some names, in one conditional transaction. */
export interface Step<Answer> {
  readonly names: readonly string[];
  readonly operation: string;
  readonly deadline: Deadline;
  readonly execute: (ledger: SnapshotLedger, view: View) => Answer;
  /** The answer once it was written in this revision. Default: what `execute` returned. */
  readonly finish?: (answer: Answer, revision: number, view: View) => Answer;
  /** Whose entry of a name is looked at, and may be changed. */
  readonly sought?: ReadonlyMap<string, Sought>;
  /** The offset of terms that it needs. Default: the one there is. */
  readonly offset?: (view: View) => number;
}

/** What steps are made with. */
export interface StepsParts {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly leases: StoreLeases;
  readonly holdings: Holdings;
  readonly voiding: Voiding;
  readonly whereabouts: OwnWhereabouts;
  readonly note: (holding: Holding) => void;
}
